#include "analysis/table/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/ratio.hpp"
#include "analysis/table/cells.hpp"
#include "core/base/paths.hpp"
#include "core/result/result.hpp"
#include "core/result/same_work.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::filesystem::path summaries_folder() { return data_folder("results-schema") / "summaries"; }

/// A mean of speedups, or why there is none.
struct Mean {
  double value = 0;       ///< 0: there is none
  std::size_t count = 0;  ///< of what
  std::string marks;      ///< of all that it is made of
  std::string why;
};

/// Marks, each once.
void add_marks(const std::string& more, std::string& marks) {
  for (std::size_t at = 0; at < more.size();) {
    const bool ascii = (static_cast<unsigned char>(more[at]) & 0x80) == 0;
    const std::string mark = more.substr(at, ascii ? 1 : std::string(printed_mark).size());
    if (marks.find(mark) == marks.npos) marks += mark;
    at += mark.size();
  }
}

Mean geometric_mean(const std::vector<Mean>& parts) {
  Mean mean;
  double logarithms = 0;
  for (const Mean& part : parts) {
    logarithms += std::log(part.value);
    add_marks(part.marks, mean.marks);
  }
  mean.count = parts.size();
  if (mean.count > 0) mean.value = std::exp(logarithms / static_cast<double>(mean.count));
  return mean;
}

/// Rows of one system whose times are of the same work.
bool same_problem(const Series& a, const Series& b, const json& workload) {
  const json &first = a.first(), &second = b.first();
  if (first.at("benchmark") != second.at("benchmark") ||
      first.at("problem").at("descriptor") != second.at("problem").at("descriptor") ||
      !difference(first, second).empty())
    return false;
  const json apart = workload.value("apart", json::array());
  return std::all_of(apart.begin(), apart.end(), [&](const json& name) {
    return parameter(first, name) == parameter(second, name);
  });
}

/// The rows of a baseline that stand beside a series: those with its values of `apart`.
Baseline beside_apart(Baseline baseline, const Series& series, const json& workload) {
  for (const json& name : workload.value("apart", json::array()))
    baseline = baseline.where(name, series.parameter(name));
  return baseline;
}

class SummaryTable {
 public:
  SummaryTable(const json& summary, const std::vector<NamedResult>& results,
               const std::vector<Baseline>& baselines, bool markdown)
      : summary_(summary),
        results_(results),
        baselines_(baselines),
        page_(markdown),
        all_(series_of(results)) {}

  std::string text() {
    for (const json& category : summary_.at("categories")) add(category);
    table_.columns = {{"workload"}};
    for (std::size_t result = 0; result < results_.size(); ++result)
      for (const Baseline& baseline : baselines_)
        table_.columns.push_back({over(name_of(result), baseline.system()), true});
    for (const auto& [system, other] : printed_pairs())
      table_.columns.push_back({"printed: " + over(system, other), true});
    legend_.add(
        "Speedups, above 1 the first-named system is faster. (n): geometric mean over n problems, "
        "of each the fastest comparable rows of both; of a suite: over its workloads. " +
        std::string(no_verdict));
    legend_.add("printed: " + text_of(summary_, "source"));
    add_title(page_, results_, {text_of(summary_, "description")});
    page_.table(table_, legend_.lines());
    return page_.text();
  }

 private:
  std::string name_of(std::size_t result) const {
    const NamedResult& named = results_[result];
    return named.name.empty() ? text_of(named.result.at("system"), "name") : named.name;
  }

  /// Of the baselines that are shown: pairs of which the source prints a speedup.
  std::vector<std::pair<std::string, std::string>> printed_pairs() const {
    std::vector<std::pair<std::string, std::string>> pairs;
    const auto add = [&](const json& what) {
      for (const json& printed : what.value("printed", json::array())) {
        const std::pair<std::string, std::string> pair{printed.at("system"), printed.at("over")};
        const bool shown =
            std::any_of(baselines_.begin(), baselines_.end(),
                        [&](const Baseline& baseline) { return baseline.system() == pair.second; });
        if (shown && std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
          pairs.push_back(pair);
      }
    };
    for (const json& category : summary_.at("categories")) {
      add(category);
      for (const json& workload : category.at("workloads")) add(workload);
    }
    return pairs;
  }

  void add(const json& category) {
    const std::size_t pairs = results_.size() * baselines_.size();
    std::vector<std::vector<Mean>> means(pairs);  // of the workloads
    for (const json& workload : category.at("workloads"))
      for (std::size_t i = 0; i < pairs; ++i)
        means[i].push_back(
            mean_of(workload, i / baselines_.size(), baselines_[i % baselines_.size()]));
    // Cells in the order in which they are read: they number the footnotes.
    Line line{{text_of(category, "name")}};
    for (const std::vector<Mean>& parts : means) line.cells.push_back(cell(whole(category, parts)));
    add_printed(category, line);
    table_.lines.push_back(std::move(line));
    for (std::size_t w = 0; w < category.at("workloads").size(); ++w) {
      const json& workload = category.at("workloads")[w];
      Line part{{(page_.markdown() ? "" : "  ") + text_of(workload, "name")}};
      for (const std::vector<Mean>& parts : means) part.cells.push_back(cell(parts[w]));
      add_printed(workload, part);
      table_.lines.push_back(std::move(part));
    }
  }

  static Mean whole(const json& category, const std::vector<Mean>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!(parts[i].value > 0))
        return {0, 0, "",
                fmt::format("{} has no speedup, so the mean would not be of the whole",
                            text_of(category.at("workloads")[i], "name"))};
    return geometric_mean(parts);
  }

  Mean mean_of(const json& workload, std::size_t result, const Baseline& baseline) {
    std::vector<std::vector<const Series*>> problems;
    std::string why =
        fmt::format("{} has no row of {}", name_of(result), text_of(workload, "name"));
    for (const Series& series : all_) {
      const json benchmarks = workload.at("benchmarks");
      if (series.result != result || std::find(benchmarks.begin(), benchmarks.end(),
                                               series.first().at("benchmark")) == benchmarks.end())
        continue;
      if (status_of(series) != "ok") {
        why = fmt::format("{}: its rows of {} are {}", name_of(result), text_of(workload, "name"),
                          status_of(series));
        continue;
      }
      const auto place = std::find_if(problems.begin(), problems.end(), [&](const auto& group) {
        return same_problem(*group.front(), series, workload);
      });
      (place == problems.end() ? problems.emplace_back() : *place).push_back(&series);
    }
    std::vector<Mean> speedups;
    for (const std::vector<const Series*>& problem : problems)
      if (const Mean found = best_of(problem, workload, baseline, why); found.value > 0)
        speedups.push_back(found);
    Mean mean = geometric_mean(speedups);
    mean.why = why;
    return mean;
  }

  /// The largest speedup among rows of one problem: of their fastest.
  Mean best_of(const std::vector<const Series*>& problem, const json& workload,
               const Baseline& baseline, std::string& why) {
    json best;
    const Series* fastest = nullptr;
    for (const Series* series : problem) {
      std::string reason;
      const Baseline others = beside_apart(baseline, *series, workload);
      json match = beside(*series, &others, baseline.system(), &reason, Preference::fastest);
      if (!match.is_object()) {
        why = reason.starts_with(baseline.system()) ? reason : baseline.system() + ": " + reason;
        continue;
      }
      if (fastest != nullptr && match.at("speedup") <= best.at("speedup")) continue;
      best = std::move(match);
      fastest = series;
    }
    if (fastest == nullptr) return {};
    explain(*fastest, best, baseline.system());
    return {best.at("speedup"), 1,
            ratio_mark(*fastest, best) + (best.contains("ratio_printed") ? printed_mark : "") +
                (best.contains("projection") ? published_mark(best) : ""),
            ""};
  }

  void explain(const Series& series, const json& match, const std::string& system) {
    if (series.published)
      legend_.cite(system_of(results_, series), text_of(series.first(), "citation"));
    if (match.at("published") == true) legend_.cite(system, text_of(match, "citation"));
    explain_projection(system_of(results_, series), series.first(), legend_);
    explain_projected(system, match, legend_);
    explain_not_given(system, match, legend_);
    if (match.contains("projection")) legend_.note(system, text_of(match, "note"), true);
    if (match.contains("ratio_printed")) legend_.add(printed_note(series, match));
    legend_.add(note_of(mark_of(series)));
  }

  std::string cell(const Mean& mean) {
    if (!(mean.value > 0)) return "- " + legend_.footnote(mean.why);
    return fmt::format("{:.3g}{} ({})", mean.value, mean.marks, mean.count);
  }

  void add_printed(const json& what, Line& line) const {
    for (const auto& [system, other] : printed_pairs()) {
      std::string text;
      for (const json& printed : what.value("printed", json::array()))
        if (printed.at("system") == system && printed.at("over") == other)
          text = printed.at("text");
      line.cells.push_back(text);
    }
  }

  const json& summary_;
  const std::vector<NamedResult>& results_;
  const std::vector<Baseline>& baselines_;
  Page page_;
  const std::vector<Series> all_;
  Table table_;
  Legend legend_;
};

}  // namespace

std::vector<std::string> summary_names() { return json_names(summaries_folder()); }

json read_summary(const std::string& name) {
  return read_checked(summaries_folder() / (name + ".json"), "summary");
}

std::string summary_table(const json& summary, const std::vector<NamedResult>& results,
                          const std::vector<Baseline>& baselines, bool markdown) {
  return SummaryTable(summary, results, baselines, markdown).text();
}

}  // namespace assay
