#include "analysis/table/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/ratio.hpp"
#include "analysis/table/beside.hpp"
#include "core/base/json_fields.hpp"
#include "core/base/paths.hpp"
#include "core/result/same_work.hpp"
#include "core/result/schema.hpp"

namespace assay {

static void visit_fields(PrintedSpeedup& printed, FieldReader& fields) {
  fields.always("system", printed.system, "over", printed.over, "text", printed.text);
}
static void visit_fields(SummaryWorkload& workload, FieldReader& fields) {
  fields.always("name", workload.name, "benchmarks", workload.benchmarks);
  fields.optional("apart", workload.apart, "printed", workload.printed);
}
static void visit_fields(SummaryCategory& category, FieldReader& fields) {
  fields.always("name", category.name, "workloads", category.workloads);
  fields.optional("printed", category.printed);
}
static void visit_fields(SpeedupSummary& summary, FieldReader& fields) {
  fields.always("description", summary.description, "source", summary.source, "systems",
                summary.systems, "baselines", summary.baselines, "categories", summary.categories);
}

namespace {

std::filesystem::path summaries_folder() { return data_folder("results-schema") / "summaries"; }

/// A mean of speedups, or why there is none.
struct Mean {
  double value = 0;       ///< 0: there is none
  std::size_t count = 0;  ///< of its parts
  std::string marks{};    ///< of all its parts
  std::string why{};
};

/// Adds each mark that is missing.
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

/// True if two rows of one system have times of the same work.
bool same_problem(const Row& first, const Row& second, const SummaryWorkload& workload) {
  return first.benchmark == second.benchmark &&
         first.problem.descriptor == second.problem.descriptor &&
         difference(first, second).empty() &&
         std::ranges::all_of(workload.apart, [&](const std::string& name) {
           return parameter(first, name) == parameter(second, name);
         });
}

class SummaryTable {
 public:
  SummaryTable(const SpeedupSummary& summary, const Results& results,
               const std::vector<Baseline>& baselines, const std::string& format)
      : summary_(summary),
        results_(results),
        baselines_(baselines),
        format_(format),
        page_(format == "markdown", format == "latex"),
        all_(make_series(results)) {
    for (const SummaryCategory& category : summary.categories) {
      add_pairs(category.printed);
      for (const SummaryWorkload& workload : category.workloads) add_pairs(workload.printed);
    }
  }

  std::string text() {
    for (const SummaryCategory& category : summary_.categories) add(category);
    table_.columns = {{"workload"}};
    for (std::size_t result = 0; result < results_.size(); ++result)
      for (const Baseline& baseline : baselines_)
        table_.columns.push_back({over(make_name(result), baseline.system()), true});
    for (const auto& [system, other] : printed_pairs_)
      table_.columns.push_back({"printed: " + over(system, other), true});
    for (std::size_t i = 2; i < table_.columns.size(); ++i)
      table_.columns[i].spare = static_cast<int>(i);
    legend_.add(
        "Speedups: above 1, the first-named system is faster. (n): geometric mean over n problems, "
        "each with the fastest comparable rows of both systems; a suite's: over its workloads. " +
        std::string(no_verdict));
    legend_.add("printed: " + summary_.source);
    if (format_ == "csv") return render_csv_table(table_);
    if (format_ == "json") {
      nlohmann::json document = render_json_table(table_);
      document.update({{"title", summary_.description}, {"notes", legend_.lines()}});
      return document.dump(1) + "\n";
    }
    add_title(page_, results_, {}, {summary_.description});
    page_.table(table_, legend_.lines());
    return page_.text();
  }

 private:
  std::string make_name(std::size_t result) const {
    const NamedResult& named = results_[result];
    return named.name.empty() ? named.system() : named.name;
  }

  /// Adds pairs with a printed speedup over a baseline that is shown.
  void add_pairs(const std::vector<PrintedSpeedup>& all) {
    for (const PrintedSpeedup& printed : all) {
      const std::pair pair(printed.system, printed.over);
      if (std::ranges::find(baselines_, pair.second, &Baseline::system) != baselines_.end() &&
          std::ranges::find(printed_pairs_, pair) == printed_pairs_.end())
        printed_pairs_.push_back(pair);
    }
  }

  void add(const SummaryCategory& category) {
    const std::size_t pairs = results_.size() * baselines_.size();
    std::vector<std::vector<Mean>> means(pairs);  // of the workloads
    for (const SummaryWorkload& workload : category.workloads)
      for (std::size_t i = 0; i < pairs; ++i)
        means[i].push_back(
            find_mean(workload, i / baselines_.size(), baselines_[i % baselines_.size()]));
    // Cells in reading order, because they number the footnotes.
    std::vector<Mean> wholes;
    for (const std::vector<Mean>& parts : means) wholes.push_back(find_whole(category, parts));
    add_line(category.name, wholes, category.printed);
    for (std::size_t i = 0; i < category.workloads.size(); ++i) {
      std::vector<Mean> parts;
      for (const std::vector<Mean>& workloads : means) parts.push_back(workloads[i]);
      add_line(
          (format_ == "terminal" || format_ == "latex" ? "  " : "") + category.workloads[i].name,
          parts, category.workloads[i].printed);
    }
  }

  void add_line(const std::string& name, const std::vector<Mean>& means,
                const std::vector<PrintedSpeedup>& all_printed) {
    Line& line = table_.lines.emplace_back(Line{{name}});
    for (const Mean& mean : means)
      line.add(
          mean.value > 0
              ? Cell(fmt::format("{:.3g}{} ({})", mean.value, mean.marks, mean.count), mean.value)
              : Cell("- " + legend_.footnote(mean.why)));
    for (const auto& [system, other] : printed_pairs_) {
      std::string text;
      for (const PrintedSpeedup& printed : all_printed)
        if (printed.system == system && printed.over == other) text = printed.text;
      line.add(text);
    }
  }

  static Mean find_whole(const SummaryCategory& category, const std::vector<Mean>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!(parts[i].value > 0))
        return {.why = fmt::format("{} has no speedup, so the mean would not be of the whole",
                                   category.workloads[i].name)};
    return geometric_mean(parts);
  }

  Mean find_mean(const SummaryWorkload& workload, std::size_t result, const Baseline& baseline) {
    std::vector<std::vector<const Series*>> problems;
    std::string why = fmt::format("{} has no row of {}", make_name(result), workload.name);
    for (const Series& series : all_) {
      const Row& row = series.first();
      if (series.result != result ||
          std::ranges::find(workload.benchmarks, row.benchmark) == workload.benchmarks.end())
        continue;
      if (!has_number(series)) {
        why = fmt::format("{}: its rows of {} are {}", make_name(result), workload.name,
                          series.status);
        continue;
      }
      const auto place = std::ranges::find_if(problems, [&](const auto& group) {
        return same_problem(group.front()->first(), row, workload);
      });
      (place == problems.end() ? problems.emplace_back() : *place).push_back(&series);
    }
    std::vector<Mean> speedups;
    for (const std::vector<const Series*>& problem : problems)
      if (const Mean best = find_best(problem, workload, baseline, why); best.value > 0)
        speedups.push_back(best);
    Mean mean = geometric_mean(speedups);
    mean.why = why;
    return mean;
  }

  /// The largest speedup among rows of one problem, which is that of the fastest row.
  Mean find_best(const std::vector<const Series*>& problem, const SummaryWorkload& workload,
                 const Baseline& baseline, std::string& why) {
    Match best;
    const Series* fastest = nullptr;
    for (const Series* series : problem) {
      std::string reason;
      Baseline others = baseline;
      for (const std::string& name : workload.apart)
        others = others.where(name, series->parameter(name));
      const Match match =
          beside(*series, {baseline.system(), &others}, &reason, Preference::fastest);
      if (!match) {
        why = reason.starts_with(baseline.system()) ? reason : baseline.system() + ": " + reason;
      } else if (!best || match->speedup > best->speedup) {
        best = match;
        fastest = series;
      }
    }
    if (!best) return {};
    return {best->speedup, 1, explain(*fastest, *best, baseline.system())};
  }

  /// Explains a speedup, and returns its marks.
  std::string explain(const Series& series, const RowBaseline& match, const std::string& system) {
    const std::string own = name_system(results_, series);
    if (series.published) legend_.cite(own, series.first().citation);
    if (match.published) legend_.cite(system, match.citation);
    explain_projection(own, series.first(), legend_);
    explain_projection(system, match, legend_);
    if (match.projection) legend_.note(system, match.note, true);
    const std::string marks = format_ratio_marks(series, match, system, legend_);
    legend_.add(explain_mark(choose_mark(series)));
    return marks + (match.projection ? mark_published(match) : "");
  }

  const SpeedupSummary& summary_;
  const Results& results_;
  const std::vector<Baseline>& baselines_;
  const std::string format_;
  Page page_;
  const SeriesList all_;
  std::vector<std::pair<std::string, std::string>> printed_pairs_{};  ///< systems
  Table table_{};
  Legend legend_{};
};

}  // namespace

Texts list_summary_names() { return list_json_names(summaries_folder()); }

SpeedupSummary read_summary(const std::string& name) {
  SpeedupSummary summary;
  read_fields(read_checked(summaries_folder() / (name + ".json"), "summary"), summary);
  return summary;
}

std::string render_summary_table(const SpeedupSummary& summary, const Results& results,
                                 const std::vector<Baseline>& baselines,
                                 const std::string& format) {
  return SummaryTable(summary, results, baselines, format).text();
}

}  // namespace assay
