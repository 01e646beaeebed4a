#pragma once
// Two ways to do one allreduce, verified, their calls paired on all ranks.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/algorithms/algorithm.hpp"
#include "core/api/host_device.hpp"
#include "core/base/statistics.hpp"
#include "core/program/plugins.hpp"
#include "tests/self_benchmark/support/pairs.hpp"
#include "tests/self_benchmark/support/ranks.hpp"

namespace assay::self_benchmark {

/// The ranks that mpirun has started, by the plugin `transport`.
class MpiRanks {
 public:
  explicit MpiRanks(const std::string& transport) : alone_(make_serial_communicator()) {
    Result<Backend*> backend = plugins_.open(transport);
    if (const auto* refusal = std::get_if<Unsupported>(&backend)) {
      reason_ = refusal->reason;
      return;
    }
    auto joined = std::get<Backend*>(backend)->connect({}, *alone_);
    if (const auto* refusal = std::get_if<Unsupported>(&joined))
      reason_ = refusal->reason;
    else
      ranks_ = std::move(std::get<std::unique_ptr<Communicator>>(joined));
  }
  const std::string& reason() const { return reason_; }
  /// The same ranks by another transport; the reason where it cannot.
  Result<std::unique_ptr<Communicator>> by(const std::string& transport) {
    Result<Backend*> backend = plugins_.open(transport);
    if (auto* refusal = std::get_if<Unsupported>(&backend)) return std::move(*refusal);
    return std::get<Backend*>(backend)->connect({}, *ranks_);
  }
  Communicator& operator*() const { return *ranks_; }

  std::unique_ptr<Communicator> algorithm(const std::string& name) const {
    for (const AlgorithmEntry& entry : algorithms()) {
      if (entry.name != name) continue;
      auto made = entry.make(*ranks_, *ranks_, {});
      if (const auto* refusal = std::get_if<Unsupported>(&made))
        throw std::runtime_error(refusal->reason);
      return std::move(std::get<std::unique_ptr<Communicator>>(made));
    }
    throw std::runtime_error("no algorithm " + name);
  }

 private:
  Plugins plugins_;
  std::unique_ptr<Communicator> alone_;
  std::string reason_;
  std::unique_ptr<Communicator> ranks_;
};

/// Seconds of both sides in each pair, the slowest rank's; every rank gets them. Both use the same
/// buffers of `bytes` of fp32, out of place, and must give the sum. `registered`: in memory that b
/// gives for it.
inline nlohmann::json allreduce_pairs(Communicator& ranks, Communicator& a, Communicator& b,
                                      std::int64_t bytes, int pairs, bool registered = false) {
  constexpr int samples = 3;
  const std::int64_t count = bytes / 4;
  const auto floats = [&](std::vector<float>& ordinary) {
    if (!registered) ordinary.resize(static_cast<std::size_t>(count));
    std::shared_ptr<void> memory = registered
                                       ? b.allocate(static_cast<std::size_t>(bytes))
                                       : std::shared_ptr<void>(ordinary.data(), [](void*) {});
    if (!memory) throw std::runtime_error("there is no registered memory.");
    return memory;
  };
  std::vector<float> ordinary[2];
  const std::shared_ptr<void> memory[2] = {floats(ordinary[0]), floats(ordinary[1])};
  const std::span<float> mine(static_cast<float*>(memory[0].get()),
                              static_cast<std::size_t>(count)),
      sum(static_cast<float*>(memory[1].get()), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < mine.size(); ++i)
    mine[i] = static_cast<float>(i % 1009) + static_cast<float>(ranks.rank());
  const Call call{Collective::allreduce,
                  {mine.data(), count, DataType::fp32},
                  {sum.data(), count, DataType::fp32},
                  ReduceOp::sum,
                  0};
  HostStream stream;
  const float n = static_cast<float>(ranks.size());
  const auto verified = [&](Communicator& communicator) {
    std::fill(sum.begin(), sum.end(), -1.f);
    communicator.run(call, stream);
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (sum[i] != n * static_cast<float>(i % 1009) + n * (n - 1) / 2)
        throw std::runtime_error("the sum is wrong. Mend it before timing it.");
  };
  const auto timed = [&](Communicator& member) {
    double times[samples];
    for (double& time : times) {
      ranks.barrier();
      const auto start = std::chrono::steady_clock::now();
      member.run(call, stream);
      time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    ranks.allreduce_max(times);
    return median(times);
  };
  for (Communicator* communicator : {&a, &b}) {
    communicator->prepare(call);
    verified(*communicator);
  }
  nlohmann::json result = alternate(
      pairs, [&] { return timed(a); }, [&] { return timed(b); });
  for (Communicator* member : {&a, &b}) verified(*member);
  return result;
}

/// The median ratio of allreduce_pairs.
inline double median_ratio(const nlohmann::json& pairs) {
  std::vector<double> a, b;
  for (const nlohmann::json& pair : pairs) {
    a.push_back(pair[0]);
    b.push_back(pair[1]);
  }
  return compute_paired_ratio(a, b).value;
}

/// Runs this program again with two ranks under each MPI that is installed, `--transport` telling
/// which, and takes the MPI against which the ratio a/b is the smallest.
inline nlohmann::json against_the_faster_mpi(int argc, char** argv) {
  allow_root();
  nlohmann::json worst;
  double least = 0;
  std::string note;
  for (const char* mpi : {"openmpi", "mpich"}) {
    std::string command =
        std::string("mpirun.") + mpi + " -n 2 /proc/" + std::to_string(getpid()) + "/exe";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    command += std::string(" --transport ") + (std::strcmp(mpi, "mpich") == 0 ? "mpich" : "mpi");
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("no shell for " + command);
    std::string text;
    char part[4096];
    while (const std::size_t got = std::fread(part, 1, sizeof part, pipe)) text.append(part, got);
    const int code = pclose(pipe);
    if (code != 0) return {{"skip", command + " ended with " + std::to_string(code)}};
    const nlohmann::json told = nlohmann::json::parse(text);
    if (told.contains("skip")) return told;
    const double ratio = median_ratio(told["pairs"]);
    note += (note.empty() ? "" : ", ") + std::string(mpi) + " " + std::to_string(ratio);
    if (worst.is_null() || ratio < least) {
      worst = told;
      least = ratio;
    }
  }
  worst["note"] = worst["note"].get<std::string>() + "; " + note;
  return worst;
}

/// The whole of a main(): `body(MpiRanks&, pairs)` on 2 ranks; rank 0 prints what it returns.
template <class Body>
int main_on_two_ranks(int argc, char** argv, Body body) {
  on_ranks(2, argc, argv);
  try {
    const bool told_so = argc > 2 && std::strcmp(argv[argc - 2], "--transport") == 0;
    MpiRanks ranks(told_so ? argv[argc - 1] : "mpi");
    const nlohmann::json told = ranks.reason().empty() ? body(ranks, pairs_from(argc, argv))
                                                       : nlohmann::json{{"skip", ranks.reason()}};
    if (read_launch_info().rank == 0) std::cout << told << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 7;
  }
}

/// The whole of a main(): the faster MPI's own allreduce of 16 MiB over shared_memory's.
inline int main_of_shared_memory(int argc, char** argv, bool registered) {
  if (read_launch_info().size == 1)
    return print([&] { return against_the_faster_mpi(argc, argv); });
  return main_on_two_ranks(argc, argv, [&](MpiRanks& ranks, int pairs) -> nlohmann::json {
    const auto library = ranks.algorithm("library"), ours = ranks.algorithm("shared_memory");
    return {{"pairs", allreduce_pairs(*ranks, *library, *ours, 16 << 20, pairs, registered)},
            {"unit", "s"},
            {"note", "out of place, both in the same buffers, 3 calls a side"}};
  });
}

}  // namespace assay::self_benchmark
