#include "core/program/google_benchmark.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <vector>

#include "core/base/version.hpp"
#include "core/result/marks.hpp"

namespace assay {

using nlohmann::json;

namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// Version 1.8 and later have an enumeration for error_occurred, whose third value is an error.
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

Run run_of(const json& row, int index) {
  Run run;
  run.run_name.function_name = row.at("id").get<std::string>();
  run.family_index = index;
  run.per_family_instance_index = 0;
  run.repetitions = 1;
  run.repetition_index = 0;
  run.time_unit = benchmark::kNanosecond;
  run.statistics = nullptr;
  if (const json threads = row.at("parameters").value("threads", json()); threads.is_number())
    run.threads = threads;
  return run;
}

/// compare.py reads the times of every run, and takes a time of 0 for a quick one. An aggregate it
/// passes over, and the reporter writes one of this kind (report_rms) without times.
Run error_of(const json& row, int index) {
  Run run = run_of(row, index);
  run.run_type = Run::RT_Aggregate;
  run.aggregate_name = row.at("status").get<std::string>();
  run.report_rms = true;
  set_error(run, row.at("reason").get<std::string>());
  return run;
}

std::string label_of(const json& row) {
  const json implementation = row.at("executed").value("implementation", json());
  std::string label = implementation.is_string() ? implementation.get<std::string>() : "";
  if (const std::string mark = mark_of(row); !mark.empty())
    label += (label.empty() ? "" : "; ") + std::string(note_of(mark));
  return label;
}

/// The run of a row, and what its samples have together.
std::vector<Run> runs_of(const json& row, int index) {
  const json& time = row.at("time_s");
  const auto samples = row.at("samples_s").get<std::vector<double>>();
  const auto count = static_cast<double>(samples.size());
  const double median = time.at("median");
  std::vector<Run> runs{run_of(row, index)};
  set_time(runs.front(), median, count * time.value("batch", 1));
  runs.front().report_label = label_of(row);
  for (const auto& [name, rate] : row.at("rates").items())
    if (rate.is_number()) runs.front().counters[name] = rate.get<double>();
  if (samples.size() < 2) return runs;
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const auto add = [&](const char* name, double seconds) {
    Run run = run_of(row, index);
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

std::string google_benchmark_json(const std::string& program, const json& rows) {
  using Context = benchmark::BenchmarkReporter::Context;
  [[maybe_unused]] static const bool added =  // a second time would be refused
      (benchmark::AddCustomContext("assay_version", version_text()), true);
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  Context::executable_name = program.c_str();
  reporter.ReportContext(Context());
  Context::executable_name = nullptr;
  int index = 0;
  for (const json& row : rows) {
    reporter.ReportRuns(row.at("status") == "ok" ? runs_of(row, index)
                                                 : std::vector<Run>{error_of(row, index)});
    ++index;
  }
  reporter.Finalize();
  return text.str();
}

}  // namespace assay
