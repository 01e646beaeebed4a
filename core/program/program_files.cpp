#include "core/program/program_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/program/google_benchmark.hpp"
#include "core/program/suite.hpp"
#include "core/result/outputs.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"
#include "core/result/whole_file.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// The file of "mine.json/conv1@mb32": a list of problems, which may be relative to the suite's
/// `folder`; "" if no file is named.
std::string list_file(const std::string& problem, const fs::path& folder) {
  const std::string text = is_beside_suite(problem) ? (folder / problem).string() : problem;
  const std::size_t end = end_of_file_name(text);
  return end == std::string::npos ? "" : text.substr(0, end);
}

/// The values that may name data, libraries and checkpoints (Traits::file), and lists of problems.
std::vector<std::string> list_given_files(const Benchmark& benchmark, const RunRequest& request) {
  std::vector<nlohmann::json> groups{request.chosen};
  fs::path folder;
  if (!request.suite.empty()) {
    folder = find_suite(request.suite).parent_path();
    const nlohmann::json suite = read_suite(find_suite(request.suite));
    groups.insert(groups.end(), suite.at("cases").begin(), suite.at("cases").end());
  }
  std::vector<std::string> all;
  for (const nlohmann::json& group : groups)
    if (group.contains("problem"))
      for (const std::string& text : texts_in(group["problem"]))
        if (std::string file = list_file(text, folder); !file.empty())
          all.push_back(std::move(file));
  for (const Dimension& axis : benchmark.dimensions())
    for (const std::string& name : axis.names())
      for (const nlohmann::json& group : groups)
        if (axis.traits.file && group.contains(name))
          for (std::string& text : texts_in(group[name]))
            if (std::find(axis.defaults.begin(), axis.defaults.end(), text) == axis.defaults.end())
              all.push_back(std::move(text));
  return all;
}

}  // namespace

void check_out(const Benchmark& benchmark, const RunRequest& request) {
  std::vector<std::pair<std::string, fs::path>> outputs;
  if (!request.out.empty()) outputs.emplace_back("--out", request.out);
  if (!request.benchmark_out.empty())
    outputs.emplace_back("--benchmark_out", request.benchmark_out);
  if (outputs.empty()) return;
  std::vector<std::string> inputs = request.baselines;
  if (!request.suite.empty()) inputs.push_back(find_suite(request.suite).string());
  if (!request.plan.empty()) inputs.push_back(request.plan);
  if (!request.journal.empty()) inputs.push_back(request.journal);
  const std::vector<std::string> files = list_given_files(benchmark, request);
  if (const auto journal = own_journal(request)) check_output_beside_data("--out", *journal, files);
  for (const auto& [flag, file] : outputs) {
    check_output_beside_data(flag, file, files);
    check_output(flag, file, inputs);
  }
  check_outputs_differ(outputs);
}

std::optional<fs::path> own_journal(const RunRequest& request) {
  if (request.out.empty() || !request.journal.empty() || is_special(request.out))
    return std::nullopt;
  return request.out.string() + ".journal.jsonl";
}

std::string describe_rows_location(const fs::path& journal) {
  return fmt::format(
      " Finished rows are kept in {0}. Make a result of them with `assay recover {0}`.",
      journal.string());
}

std::string recovery_note(const std::string& program, const fs::path& journal) {
  return fmt::format("{}: ended by a signal.{}\n", program, describe_rows_location(journal));
}

RunHeader own_header(const Benchmark& benchmark, const RunRequest& request,
                     const std::string& command, const std::string& started) {
  RunHeader header =
      make_header(benchmark.name() + "-" + started, request.suite, command, request.seed, started);
  const auto of_all_cases = [&](const char* dimension) {
    const auto entry = request.chosen.find(dimension);
    return entry != request.chosen.end() && entry->second.size() == 1 ? entry->second.front() : "";
  };
  header.scale = of_all_cases("scale");
  header.allocator = of_all_cases("allocator");
  if (request.launches > 1) header.launches = request.launches;
  // Options that differ from the defaults, so that the row can be measured again.
  const RunRequest standard;
  const auto note = [](auto& option, const auto& value, const auto& otherwise) {
    if (value != otherwise) option = value;
  };
  const TimingOptions &timing = request.timing, &usual = standard.timing;
  note(header.timing.max_time, timing.max_time, usual.max_time);
  note(header.timing.precision_target, timing.precision_target, usual.precision_target);
  note(header.timing.min_samples, timing.min_samples, usual.min_samples);
  note(header.timing.burn, timing.burn, usual.burn);
  note(header.timing.reference_budget, request.reference_budget, standard.reference_budget);
  return header;
}

void write_result(RunResult result, const RunRequest& request) {
  result.run.finished = format_utc_now();
  try {
    write_json(request.out, result);
  } catch (const InputError& error) {
    // Since check_out() the disk has filled up or the folder has disappeared. The measurements must
    // not be lost.
    std::cout << nlohmann::json(result).dump(1) << std::endl;
    throw CaseError(std::string(error.what()) + " The result is on stdout instead.");
  }
  if (request.talk != Verbosity::quiet) std::cerr << "wrote " << request.out.string() << '\n';
}

void write_google_benchmark(const std::string& program, const std::vector<Row>& rows,
                            const RunRequest& request) {
  if (!request.google_benchmark && request.benchmark_out.empty()) return;
  const std::string text = render_google_benchmark_json(program, rows);
  if (request.google_benchmark) std::cout << text << std::flush;
  if (request.benchmark_out.empty()) return;
  try {
    write_text(request.benchmark_out, text);
  } catch (const InputError& error) {  // the disk has filled up since check_out
    throw CaseError(error.what());
  }
}

}  // namespace assay
