#pragma once
// assay-resnet50 and assay-train beside PyTorch's process: steps in turn.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/program/suite.hpp"
#include "models/resnet50/benchmark.hpp"
#include "models/train/benchmark.hpp"
#include "tests/self_benchmark/support/peer.hpp"

namespace assay::self_benchmark {

/// One case of a benchmark of networks, verified; its runs are timed one by one.
class TimedNetwork {
 public:
  explicit TimedNetwork(const std::map<std::string, std::string>& axes,
                        const Benchmark& benchmark = resnet50_benchmark()) {
    std::map<std::string, std::vector<std::string>> wanted{{"threads", {pair_threads}}};
    for (const auto& [name, value] : axes) wanted[name] = {value};
    const Case selected = expand(benchmark, wanted, plugins_).at(0);
    auto made = benchmark.prepare(selected, context_);
    if (const auto* const refusal = std::get_if<Unsupported>(&made)) {
      reason_ = selected.id + ": " + refusal->reason;
      return;
    }
    name_ = selected.id;
    workload_ = std::move(std::get<std::unique_ptr<Workload>>(made));
    expect(workload_->verify_before());
  }
  const std::string& reason() const { return reason_; }
  std::string name() const { return name_ + ": " + workload_->execution().implementation; }

  double seconds(int samples) {
    std::vector<double> all;
    for (int i = 0; i < samples; ++i) {
      workload_->reset();
      const auto start = std::chrono::steady_clock::now();
      workload_->run(workload_->stream());
      workload_->stream().wait();
      all.push_back(seconds_since(start));
    }
    return median(all);
  }
  void verify() { expect(workload_->verify_after()); }

 private:
  static void expect(const Verification& found) {
    if (!found.passed) throw std::runtime_error(found.reason);
  }

  Plugins plugins_;
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  CaseContext context_{plugins_, *ranks_};
  std::string name_, reason_;
  std::unique_ptr<Workload> workload_;
};

/// Lets glibc keep the memory that a process started from here frees. By its defaults PyTorch gets
/// fresh pages from the kernel in each step, which took half of the time of P1B1's: a user who
/// wants speed does not leave it so. Settings of the environment go first.
inline void keep_heap_of_peer() {
  setenv("MALLOC_MMAP_MAX_", "0", 0);
  setenv("MALLOC_TRIM_THRESHOLD_", "1000000000000", 0);
  setenv("MALLOC_TOP_PAD_", "1000000000", 0);
}

/// A network of assay-train is "NAME:FIELDS". PyTorch's time of a step over ours, `samples` of each
/// a pair, the median of which counts.
inline nlohmann::json network_ratio(const std::map<std::string, std::string>& axes,
                                    std::vector<std::string> peer, int pairs, int samples) {
  const bool resnet50 =
      !axes.contains("problem") || axes.at("problem").find(':') == std::string::npos;
  TimedNetwork ours(axes, resnet50 ? resnet50_benchmark() : train_benchmark());
  if (!ours.reason().empty()) return {{"skip", ours.reason()}};
  peer.insert(peer.begin(), resnet50 ? "pytorch_resnet50" : "pytorch_network");
  peer.insert(peer.end(), {"--threads", pair_threads});
  keep_heap_of_peer();
  Peer theirs(peer);
  if (!theirs.reason().empty()) return {{"skip", theirs.reason()}};
  const auto median_of_peer = [&] {
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) seconds.push_back(theirs.run());
    return median(seconds);
  };
  median_of_peer();  // warm
  ours.seconds(1);
  const auto found = alternate(pairs, median_of_peer, [&] { return ours.seconds(samples); });
  ours.verify();
  return {{"pairs", found},
          {"unit", "s"},
          {"note",
           fmt::format("{} against {}, {} samples a side", theirs.name(), ours.name(), samples)}};
}

/// A step of a network of assay-train beside PyTorch's of the same.
struct NetworkStep {
  std::string network;  ///< "NAME:FIELDS"
  std::string batch, optimizer;
  int samples = 1;  ///< of each side in a pair
};

/// Prints the ratio of NetworkStep by the arguments of main(): precision=…, peer=" compiled".
inline int print_network_ratio(const NetworkStep& step, int argc, char** argv) {
  const std::string precision = each_value(argc, argv, "precision");
  std::map<std::string, std::string> axes{{"problem", step.network},     {"batch", step.batch},
                                          {"optimizer", step.optimizer}, {"rate", "0.001"},
                                          {"scaling", "none"},           {"precision", precision}};
  if (step.optimizer == "rmsprop") axes["alpha"] = "0.9";  // Keras's, and the peer's
  std::vector<std::string> peer{"--network",   step.network,   "--batch",     step.batch,
                                "--optimizer", step.optimizer, "--precision", precision};
  if (!each_value(argc, argv, "peer").empty()) peer.emplace_back("--compile");
  return print([&] { return network_ratio(axes, peer, pairs_from(argc, argv), step.samples); });
}

}  // namespace assay::self_benchmark
