#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>

#include "analysis/report/report.hpp"
#include "core/base/error.hpp"
#include "core/base/input_file.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* plotly_file = "plotly.min.js";
constexpr const char* packed = "packed columns";  ///< the only field of a packed list

std::string read_text(const fs::path& file) {
  try {
    return read_text_file(file, largest_hand_written);
  } catch (const InputError& error) {
    throw InputError(fmt::format(
        "a part of the report's page is missing. {} Install Assay again, or set ASSAY_DATA_PATH.",
        error.what()));
  }
}

/// The text with each of the named characters replaced.
std::string replace_characters(const std::string& original,
                               const std::map<char, std::string>& names) {
  std::string text;
  text.reserve(original.size() + original.size() / 64);
  for (const char c : original)
    if (const auto name = names.find(c); name == names.end())
      text += c;
    else
      text += name->second;
  return text;
}

/// A list of objects with equal fields becomes an object of lists, which is a third of the size. A
/// column of repeating texts stores each text once, and an index for each record.
void pack(json& node) {
  if (node.is_object()) node.erase(packed);  // only pack() makes this field
  if (node.is_structured())
    for (json& part : node) pack(part);
  if (!node.is_array() || node.size() < 2 || !node[0].is_object() || node[0].empty()) return;
  json columns;
  for (const json& record : node)
    for (const auto& [name, value] : record.items()) columns[name].push_back(value);
  for (json& column : columns) {
    if (column.size() != node.size()) return;  // the fields differ
    std::map<std::string, std::size_t> places;
    json texts = json::array(), at = json::array();
    for (const json& value : column) {
      if (!value.is_string()) break;
      const auto [place, fresh] = places.emplace(value, texts.size());
      if (fresh) texts.push_back(value);
      at.push_back(place->second);
    }
    if (at.size() == node.size() && 2 * texts.size() < at.size())
      column = {{"texts", texts}, {"places", at}};
  }
  node = {{packed, columns}};
}

}  // namespace

std::string script_json(const nlohmann::json& document) {
  // Only ASCII, because U+2028 and U+2029 would end a line of JavaScript. Texts from a command line
  // may be invalid UTF-8; those from files are valid.
  return replace_characters(document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
                            {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string plots_missing(const fs::path& assets) {
  std::error_code none;
  if (!fs::exists(assets / plotly_file, none))
    return fmt::format("{} is not there; scripts/bootstrap brings it, and CMake then finds it",
                       (assets / plotly_file).string());
  return "";
}

std::string report_page(nlohmann::json document, const fs::path& assets) {
  std::string plotly;
  std::string missing = plots_missing(assets);
  if (missing.empty()) {
    plotly = read_text(assets / plotly_file);
    // It would end the element that contains it.
    if (plotly.find("</script") != std::string::npos) {
      missing = (assets / plotly_file).string() + " cannot be inlined (it holds \"</script\")";
      plotly.clear();
    }
  }
  pack(document);
  document["plotly_reason"] = missing.empty() ? nlohmann::json() : nlohmann::json(missing);
  std::string scripts;
  for (const char* name :
       {"report_base.js", "report_filter.js", "report_table.js", "report_axes.js",
        "report_plots.js", "report_plots_documents.js", "report_heat.js", "report_summary.js",
        "report_evidence.js", "report_verdicts.js", "report_relations.js", "report_curves.js",
        "report_documents.js", "report_rows.js", "report.js"})
    scripts += read_text(assets / name);
  const std::array<std::pair<std::string_view, std::string>, 5> places{{
      {"@TITLE@",
       replace_characters(document.at("title"),
                          {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}})},
      {"@STYLE@", read_text(assets / "report.css")},
      {"@PLOTLY@", plotly},
      {"@DATA@", script_json(document)},
      {"@SCRIPT@", scripts},
  }};
  const std::string page = read_text(assets / "report.html.in");
  // One pass over the template, so that inserted text is never searched for placeholders.
  std::string text;
  std::size_t end = 0;
  for (const auto& [name, value] : places) {
    const std::size_t at = page.find(name, end);
    if (at == std::string::npos)
      throw std::logic_error(fmt::format("report.html.in lacks {} in its order", name));
    text.append(page, end, at - end).append(value);
    end = at + name.size();
  }
  return text.append(page, end);
}

}  // namespace assay
