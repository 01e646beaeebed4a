#pragma once
// The document of a report from rows at hand, and a look into it.

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
  return document.at("rows").at(index).at(column);
}

}  // namespace assay::test
