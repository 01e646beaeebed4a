#include "core/program/print_row.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/program/terminal.hpp"
#include "core/result/marks.hpp"
#include "core/result/result.hpp"

namespace assay {

namespace {

/// True if another rate has the same value ("algorithmic_flops_per_s" and "flops_per_s" may be
/// equal).
bool repeats_another(const OptionalNumbers& rates, const std::string& name, double rate) {
  return std::any_of(rates.begin(), rates.end(), [&](const auto& other) {
    return name.ends_with("_" + other.first) && other.second == rate;
  });
}

std::vector<std::string> format_row_rates(const OptionalNumbers& rates, const std::string& mark) {
  std::vector<std::string> texts;
  for (const auto& [name, rate] : rates) {
    if (!rate || !(*rate > 0) || repeats_another(rates, name, *rate)) continue;
    const std::string label = format_rate_label(name);
    texts.push_back(label + (label.empty() ? "" : " ") + format_rate(name, *rate) + mark);
  }
  return texts;
}

std::string format_interval(const RowTime& time) {
  const std::int64_t n = time.n.value_or(0);
  if (!time.ci95) return fmt::format("no interval (n={})", n);
  return fmt::format("[{}] (n={})", format_seconds_range(time.ci95->low, time.ci95->high), n);
}

/// ", 0 wrong elements": as nccl-tests counts them.
std::string wrong_text(const Row& row, const char* before) {
  if (!row.verification || !row.verification->wrong) return "";
  const std::int64_t wrong = *row.verification->wrong;
  return fmt::format("{}{} wrong element{}", before, wrong, wrong == 1 ? "" : "s");
}

std::string format_ranks(const Row& row) {
  const RowTime& time = *row.time_s;
  if (time.rank_medians_s.empty() || !time.slowest_rank) return "";
  const std::string skew = time.barrier_skew_s ? fmt::format("; ranks begin within {}",
                                                             format_seconds(*time.barrier_skew_s))
                                               : "";
  return fmt::format("\n    slowest rank {} on {}{}{}", *time.slowest_rank, time.slowest_host, skew,
                     wrong_text(row, "; "));
}

std::string format_metrics(const Row& row) {
  std::vector<std::string> texts;
  for (const auto& [name, metric] : row.metrics)
    texts.push_back(fmt::format("{} {}", name, format_metric(metric)));
  return texts.empty() ? "" : "\n    " + join(texts, "  ");
}

/// The row's note, and the reason why it has no number of another system beside it.
std::string format_note(const Row& row) {
  std::string text;
  if (!row.note.empty()) text += "\n    note: " + row.note;
  if (const std::string& host = row.time_s->host_included; !host.empty())
    text += "\n    includes the host's time in " + host;
  if (!row.baseline_reason.empty()) text += "\n    no ratio: " + row.baseline_reason;
  return text;
}

std::string format_baseline(const RowBaseline& baseline, const std::string& mark) {
  const std::string unknown =
      baseline.not_given.empty()
          ? ""
          : fmt::format("? (not given there: {})", join(baseline.not_given, ", "));
  return fmt::format("\n    {}: {}{}, speedup {:.3g}{}{}{}", baseline.system,
                     baseline.unit == "s" ? format_seconds(baseline.value)
                                          : format_rate(baseline.unit, baseline.value),
                     baseline.projection  ? " (published, a projection)"
                     : baseline.published ? " (published)"
                                          : "",
                     baseline.speedup, mark, unknown,
                     baseline.remark.empty() ? "" : "; " + baseline.remark);
}

std::string format_baselines(const Row& row, const std::string& mark) {
  std::string text = row.baseline ? format_baseline(*row.baseline, mark) : "";
  for (const RowBaseline& further : row.further_baselines) text += format_baseline(further, mark);
  return text;
}

}  // namespace

std::string format_row(const Row& row, bool colour, const std::string& label) {
  if (!row.is_ok())
    return fmt::format("{}\n    {}: {}{}\n", row.id, add_colour(row.status, colour), row.reason,
                       row.status == "target missed" ? "" : wrong_text(row, "\n    "));
  const std::string mark = choose_mark(row);
  std::vector<std::string> parts{format_seconds(row.time_s->median) + mark,
                                 format_interval(*row.time_s)};
  for (const std::string& rate : format_row_rates(row.rates, mark)) parts.push_back(rate);
  if (!label.empty()) parts.push_back(label);
  if (!row.execution->implementation.empty()) parts.push_back(row.execution->implementation);
  return fmt::format("{}\n    {}{}{}{}{}\n", row.id, join(parts, "  "), format_metrics(row),
                     format_ranks(row), format_baselines(row, mark), format_note(row));
}

void print_row(const Row& row, const std::string& label) {
  std::cout << format_row(row, colour_wanted(STDOUT_FILENO), label) << std::flush;
}

std::string describe_marks(const std::vector<Row>& rows) {
  std::string text;
  for (const char* mark : {shared_mark, throttled_mark, oversubscribed_mark})
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const Row& row) { return choose_mark(row) == mark; }))
      text += explain_mark(mark) + std::string("\n");
  return text;
}

std::string row_details(const Row& row) {
  std::string text;
  const auto counted = [](auto count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (const auto& time = row.time_s)
    text = fmt::format("{}, {} of {}, stopped by {}",
                       counted(time->warmup_runs.value_or(0), "warm-up run"),
                       counted(time->n.value_or(0), "sample"),
                       counted(time->batch.value_or(1), "run"), time->stopped_by);
  if (const auto& verification = row.verification; verification && verification->max_error)
    text += fmt::format("{}largest error {:.1e} against {}, {} elements checked",
                        text.empty() ? "" : "; ", *verification->max_error, verification->reference,
                        verification->checked.value_or(0));
  if (row.energy_j) text += fmt::format("; {} a run", format_with_unit(*row.energy_j, "J"));
  for (const auto& [step, seconds] : row.setup_s)
    if (seconds)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", step, format_seconds(*seconds));
  return text;
}

}  // namespace assay
