#pragma once
// Two ways to do one allreduce, verified, their calls paired on all ranks.

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/algorithms/algorithm.hpp"
#include "core/host_device.hpp"
#include "core/plugins.hpp"
#include "core/statistics.hpp"
#include "tests/self_benchmark/support/pairs.hpp"
#include "tests/self_benchmark/support/ranks.hpp"

namespace assay::self_benchmark {

/// The ranks that mpirun has started, by the plugin mpi.
class MpiRanks {
 public:
  MpiRanks() : alone_(serial_communicator()) {
    Made<Backend*> backend = plugins_.open("mpi");
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
/// buffers of `bytes` of fp32, out of place, and must give the sum.
inline nlohmann::json allreduce_pairs(Communicator& ranks, Communicator& a, Communicator& b,
                                      std::int64_t bytes, int pairs) {
  constexpr int samples = 3;
  const std::int64_t count = bytes / 4;
  std::vector<float> mine(static_cast<std::size_t>(count)), sum(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i)
    mine[i] = static_cast<float>(i % 1009) + static_cast<float>(ranks.rank());
  const Call call{Collective::allreduce,
                  {mine.data(), count, DataType::fp32},
                  {sum.data(), count, DataType::fp32},
                  ReduceOp::sum,
                  0};
  HostStream stream;
  const float n = static_cast<float>(ranks.size());
  const auto verified = [&](Communicator& one) {
    std::fill(sum.begin(), sum.end(), -1.f);
    one.run(call, stream);
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (sum[i] != n * static_cast<float>(i % 1009) + n * (n - 1) / 2)
        throw std::runtime_error("the sum is wrong. Mend it before timing it.");
  };
  const auto timed = [&](Communicator& one) {
    double times[samples];
    for (double& time : times) {
      ranks.barrier();
      const auto start = std::chrono::steady_clock::now();
      one.run(call, stream);
      time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    ranks.maximum(times);
    return median(times);
  };
  for (Communicator* one : {&a, &b}) {
    one->prepare(call);
    verified(*one);
  }
  nlohmann::json result = alternate(
      pairs, [&] { return timed(a); }, [&] { return timed(b); });
  for (Communicator* one : {&a, &b}) verified(*one);
  return result;
}

/// The median ratio of allreduce_pairs.
inline double median_ratio(const nlohmann::json& pairs) {
  std::vector<double> a, b;
  for (const nlohmann::json& pair : pairs) {
    a.push_back(pair[0]);
    b.push_back(pair[1]);
  }
  return paired_ratio(a, b).value;
}

/// The whole of a main(): `body(MpiRanks&, pairs)` on 2 ranks; rank 0 prints what it returns.
template <class Body>
int main_on_two_ranks(int argc, char** argv, Body body) {
  on_ranks(2, argc, argv);
  try {
    MpiRanks ranks;
    const nlohmann::json told = ranks.reason().empty() ? body(ranks, pairs_from(argc, argv))
                                                       : nlohmann::json{{"skip", ranks.reason()}};
    if (launched().rank == 0) std::cout << told << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 7;
  }
}

}  // namespace assay::self_benchmark
