#include "kernels/stream/benchmark.hpp"

#include <set>
#include <utility>

#include "core/machine/placement.hpp"
#include "kernels/stream/problem.hpp"

namespace assay {
namespace {

class StreamBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "stream"; }

  std::string description() const override {
    return "Ceilings of the machine: bandwidth of memory and caches, latency, peak arithmetic.";
  }

  std::vector<Dimension> dimensions() const override {
    Dimension algorithm = dimension::algorithm({"auto", "regular", "nontemporal"});
    algorithm.help = "kind of stores in copy, scale, add and triad; auto is regular";
    Dimension numa =
        make_dimension("numa", "NUMA node to which threads and memory are bound; any: no binding",
                       {}, {"any"}, "", "any");
    numa.every = numa_nodes();
    numa.group = "Backend";
    // A sweep also fills each part of the machine.
    Dimension threads = dimension::threads();
    std::set<int> counts;
    for (const std::string& count : threads.every) counts.insert(std::stoi(count));
    for (const int count : full_teams())
      if (count > 0 && count <= *counts.rbegin()) counts.insert(count);
    threads.every.clear();
    for (const int count : counts) threads.every.push_back(std::to_string(count));
    return {dimension::precision(list_precision_names(), {"fp64"}),
            dimension::backend("stream", {"native"}),
            algorithm,
            dimension::problem({"stream"}),
            dimension::cache(),
            std::move(threads),
            std::move(numa),
            dimension::smt(),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_stream(descriptor));
  }

  std::unique_ptr<Problem> make_problem(Settings& settings, int& threads) const override {
    return std::make_unique<StreamProblem>(parse_stream(settings.at("problem")),
                                           precision(settings.at("precision")), threads);
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return make_stream_oracle(problem_cast<StreamProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& stream_benchmark() {
  static const StreamBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
