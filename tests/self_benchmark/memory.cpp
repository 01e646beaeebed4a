// ratio: peak memory (hot) above the plugins over tensors + one reordered copy + workspace + 64 MiB
// target: <= 1
// pairs: 30
// statistic: max

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "core/measure/timing.hpp"
#include "core/program/suite.hpp"
#include "kernels/conv/benchmark.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace {

using namespace assay;

struct Subject {
  const char *problem, *direction, *precision;
};
constexpr std::array<Subject, 6> subjects = {{
    {"mb1ic8ih8oc8oh8kh3ph1", "forward", "fp32"},
    {"mb16ic64ih112oc128oh112kh3ph1", "forward", "fp32"},
    {"mb8ic64ih56oc64oh56kh3ph1", "bwd_data", "fp32"},
    {"mb8ic64ih56oc256oh56kh1", "bwd_weights", "fp32"},
    {"mb16ic256ih28oc512oh28kh1", "forward", "bf16"},
    {"mb32ic3ih224oc64oh112kh7sh2ph3", "forward", "fp32"},
}};

/// A field of /proc/self/status in bytes.
double status(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return 1024 * std::stod(line.substr(field.size() + 1));
  }
  throw std::runtime_error("no " + field + " in /proc/self/status (not Linux?).");
}

/// It runs in a process of its own, because a peak is kept for life.
nlohmann::json child(const Subject& subject) {
  const OperationBenchmark& benchmark = conv_benchmark();
  Plugins plugins;
  const auto ranks = make_serial_communicator();
  CaseContext context{plugins, *ranks};
  const Case benchmark_case = expand(benchmark,
                                     {{"problem", {subject.problem}},
                                      {"direction", {subject.direction}},
                                      {"precision", {subject.precision}},
                                      {"backend", {"onednn"}}},
                                     plugins)
                                  .at(0);
  Result<Backend*> backend = plugins.open("onednn");
  if (const auto* refusal = std::get_if<Unsupported>(&backend)) return {{"skip", refusal->reason}};
  Options options;
  options.settings = benchmark_case.settings;
  options.threads = std::stoi(benchmark_case.settings.at("threads"));

  std::ofstream("/proc/self/clear_refs") << 5;  // the peak so far becomes what is resident now
  const double loaded = status("VmRSS");
  {
    auto made = benchmark.prepare(benchmark_case, context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
    const auto& workload = std::get<std::unique_ptr<Workload>>(made);
    const Verification before = workload->verify_before();
    if (!before.passed) throw std::runtime_error(before.reason);
    TimingOptions timing;
    timing.max_time = 0.1;
    measure(*workload, *ranks, timing);
    const Verification after = workload->verify_after();
    if (!after.passed) throw std::runtime_error(after.reason);
  }
  const double peak = status("VmHWM") - loaded;

  auto made =
      std::get<Backend*>(backend)->make(*benchmark.problem(benchmark_case), options, *ranks);
  const auto& operation = *std::get<std::unique_ptr<Operation>>(made);
  double tensors = 0, copy = 0,
         workspace = static_cast<double>(operation.execution().workspace_bytes), scratch = 0;
  for (const TensorSpec& spec : operation.arguments()) {
    if (spec.role == Role::workspace) {
      scratch += static_cast<double>(spec.bytes);
      continue;
    }
    tensors += static_cast<double>(spec.bytes);
    copy = std::max(copy,
                    static_cast<double>(spec.elements()) * static_cast<double>(size_of(spec.type)));
  }
  const double allowed = tensors + copy + std::max(workspace, scratch) + 64.0 * 1024 * 1024;
  return {{"pair", {std::max(peak, 1.0), allowed}},
          {"case", benchmark_case.id},
          {"tensors", tensors},
          {"copy", copy}};
}

nlohmann::json parent(int pairs, const char* self) {
  nlohmann::json all = nlohmann::json::array(), skipped = nlohmann::json::object(), worst;
  for (int pair = 0; pair < pairs; ++pair) {
    const auto number = std::to_string(static_cast<std::size_t>(pair) % subjects.size());
    const std::string command = std::string("'") + self + "' --child " + number;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot start a child process.");
    std::string text;
    for (std::array<char, 4096> part{}; std::fgets(part.data(), part.size(), pipe) != nullptr;)
      text += part.data();
    if (pclose(pipe) != 0) throw std::runtime_error("a child failed: " + command);
    const nlohmann::json result = nlohmann::json::parse(text);
    if (result.contains("skip")) {
      skipped[subjects[std::stoul(number)].problem] = result.at("skip");
      continue;
    }
    all.push_back(result.at("pair"));
    const auto ratio = [](const nlohmann::json& object) {
      return object.at("pair")[0].get<double>() / object.at("pair")[1].get<double>();
    };
    if (worst.is_null() || ratio(result) > ratio(worst)) worst = result;
  }
  if (all.empty()) return {{"skip", skipped.dump()}};
  return {{"pairs", all},
          {"unit", "bytes"},
          {"note", "worst " + worst.at("case").get<std::string>() + ": " +
                       std::to_string(worst.at("pair")[0].get<std::int64_t>()) + " of " +
                       std::to_string(worst.at("pair")[1].get<std::int64_t>()) + " bytes; " +
                       std::to_string(subjects.size()) + " cases in turn" +
                       (skipped.empty() ? "" : ", left out " + skipped.dump())}};
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] {
    if (argc == 3 && std::string(argv[1]) == "--child")
      return child(subjects.at(std::stoul(argv[2])));
    return parent(self_benchmark::pairs_from(argc, argv), argv[0]);
  });
}
