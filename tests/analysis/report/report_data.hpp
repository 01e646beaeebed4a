#pragma once
// The document of a report from rows at hand, and a look into it.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "tests/support/rows.hpp"

namespace assay::test {

inline nlohmann::json document_of(std::vector<nlohmann::json> rows) {
  return report_document({"title", {{"", result(std::move(rows))}}, {}, {}});
}

/// The row's value in a column of the page's table.
inline nlohmann::json value_of(const nlohmann::json& document, std::size_t index,
                               const std::string& column) {
  const nlohmann::json& rows = document.at("rows");
  for (std::size_t i = 0; i < rows.at("columns").size(); ++i)
    if (rows["columns"][i] == column) {
      const nlohmann::json& value = rows.at("values").at(index).at(i);
      const nlohmann::json& texts = rows.at("texts");
      const bool text = std::find(texts.begin(), texts.end(), column) != texts.end();
      return text ? document.at("strings").at(value.get<std::size_t>()) : value;
    }
  ADD_FAILURE() << "no column " << column;
  return nullptr;
}

}  // namespace assay::test
