#include "core/program/google_benchmark.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <numeric>
#include <sstream>
#include <vector>

#include "core/base/version.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// Version 1.8 and later replace error_occurred by an enumeration, whose third value is an error.
template <class Entry>
void set_error(Entry& entry, const std::string& reason) {
  if constexpr (requires { entry.error_occurred; }) {
    entry.error_occurred = true;
    entry.error_message = reason;
  } else {
    entry.skipped = static_cast<decltype(entry.skipped)>(2);
    entry.skip_message = reason;
  }
}

/// The reporter divides the time by the iterations.
void set_time(Run& run, double seconds, double iterations) {
  run.iterations = static_cast<benchmark::IterationCount>(iterations);
  run.real_accumulated_time = seconds * iterations;
}

Run make_run(const Row& row, int index) {
  Run run;
  run.run_name.function_name = row.id;
  run.family_index = index;
  run.per_family_instance_index = 0;
  run.repetitions = 1;
  run.repetition_index = 0;
  run.time_unit = benchmark::kNanosecond;
  run.statistics = nullptr;
  if (const auto threads = row.number("threads")) run.threads = static_cast<int>(*threads);
  return run;
}

/// compare.py reads the times of every run and would take a time of 0 for a fast run. It skips
/// aggregates, and the reporter writes this kind of aggregate (report_rms) without times.
Run make_error_run(const Row& row, int index) {
  Run run = make_run(row, index);
  run.run_type = Run::RT_Aggregate;
  run.aggregate_name = row.status;
  run.report_rms = true;
  set_error(run, row.reason);
  return run;
}

std::string make_label(const Row& row) {
  std::string label = row.execution->implementation;
  if (const std::string mark = choose_mark(row); !mark.empty())
    label += (label.empty() ? "" : "; ") + std::string(explain_mark(mark));
  return label;
}

/// The run of a row, and the aggregates of its samples.
std::vector<Run> make_runs(const Row& row, int index) {
  const std::vector<double>& samples = row.samples_s;
  const auto count = static_cast<double>(samples.size());
  const double median = row.time_s->median;
  std::vector<Run> runs{make_run(row, index)};
  set_time(runs.front(), median, count * static_cast<double>(row.time_s->batch.value_or(1)));
  runs.front().report_label = make_label(row);
  for (const auto& [name, rate] : row.rates)
    if (rate) runs.front().counters[name] = *rate;
  if (samples.size() < 2) return runs;
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const auto add = [&](const char* name, double seconds) {
    Run run = make_run(row, index);
    run.run_type = Run::RT_Aggregate;
    run.aggregate_name = name;
    set_time(run, seconds, count);
    runs.push_back(std::move(run));
  };
  add("mean", mean);
  add("median", median);
  add("stddev", std::sqrt(squares / (count - 1)));
  return runs;
}

}  // namespace

std::string render_google_benchmark_json(const std::string& program, const std::vector<Row>& rows) {
  using Context = benchmark::BenchmarkReporter::Context;
  [[maybe_unused]] static const bool added =  // once, since a second time would be refused
      (benchmark::AddCustomContext("assay_version", format_version()), true);
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  Context::executable_name = program.c_str();
  reporter.ReportContext(Context());
  Context::executable_name = nullptr;
  int index = 0;
  for (const Row& row : rows) {
    reporter.ReportRuns(row.is_ok() ? make_runs(row, index)
                                    : std::vector<Run>{make_error_run(row, index)});
    ++index;
  }
  reporter.Finalize();
  return text.str();
}

}  // namespace assay
