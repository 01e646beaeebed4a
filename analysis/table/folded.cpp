#include "analysis/table/folded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

constexpr std::size_t most_reasons = 8;

/// What all of these share of the problem and of the parameters that differ in the table.
std::string shared_by(const std::vector<const Series*>& rows,
                      const std::vector<std::string>& varying) {
  std::vector<std::string> texts;
  const auto add = [&](const std::string& name, auto value) {
    const std::string text = value(*rows.front());
    const bool shared = std::all_of(rows.begin(), rows.end(),
                                    [&](const Series* row) { return value(*row) == text; });
    if (shared && !text.empty()) texts.push_back(name + " " + text);
  };
  add("problem", [](const Series& series) { return series.problem(); });
  for (const std::string& name : varying)
    add(name, [&](const Series& series) { return axis_text(series, name); });
  return texts.empty() ? "" : " (" + join(texts, ", ") + ")";
}

/// The reason without what it tells of this problem alone: "(winograd convolution, …, mb16ic64…)"
/// at its end.
std::string general_reason(const Series& series) {
  const std::string& reason = series.reason;
  const std::string problem = text_of(series.first().at("problem"), "descriptor");
  const std::size_t open = reason.rfind(" (");
  const bool of_problem = open != std::string::npos && open > 0 && reason.ends_with(")") &&
                          !problem.empty() && reason.find(problem, open) != std::string::npos;
  return of_problem ? reason.substr(0, open) : reason;
}

}  // namespace

bool may_fold(const Series& series) {
  return status_of(series) == "unsupported" && !series.first().value("required", false);
}

std::string folded_line(const std::vector<Series>& folded, const std::vector<Series>& all,
                        Legend& legend) {
  if (folded.empty()) return "";
  std::map<std::string, std::vector<const Series*>> reasons;
  std::vector<std::string> order;
  for (const Series& series : folded) {
    const std::string reason = general_reason(series);
    auto& rows = reasons[reason];
    if (rows.empty()) order.push_back(reason);
    rows.push_back(&series);
  }
  const std::vector<std::string> varying = axes_of(all, "").shown;
  std::vector<std::string> marks;
  std::size_t told = 0;
  for (const std::string& reason : order) {
    if (marks.size() == most_reasons) break;
    const auto& rows = reasons.at(reason);
    told += rows.size();
    marks.push_back(legend.footnote(
        fmt::format("{} unsupported{}: {}", rows.size(), shared_by(rows, varying), reason)));
  }
  if (told < folded.size())
    marks.push_back(legend.footnote(fmt::format(
        "{} unsupported for {} other reasons: --columns all shows each row with its reason.",
        folded.size() - told, order.size() - most_reasons)));
  const std::string which =
      marks.size() > 3 ? marks.front() + " .. " + marks.back() : join(marks, " ");
  return fmt::format("{} unsupported row{} not shown {}", folded.size(),
                     folded.size() > 1 ? "s" : "", which);
}

}  // namespace assay
