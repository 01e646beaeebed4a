#include "kernels/pool/benchmark.hpp"

#include "kernels/pool/problem.hpp"

namespace assay {
namespace {

class PoolBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "pool"; }

  std::string description() const override {
    return "Pooling: the largest element, or the mean, of each window.";
  }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string>&directions = pool_direction_names(), &modes = pool_mode_names();
    return {make_dimension("direction", "pass to time", directions, {directions.front()}),
            make_dimension("mode", "result of a window: its largest element, or its mean", modes,
                           {modes.front()}, "", modes.front()),
            dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("pool", {"onednn"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"resnet50"}),
            dimension::cache(),
            dimension::threads(),
            dimension::layout({"any", "nchw", "nhwc"}),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_pool(descriptor));
  }

  std::unique_ptr<Problem> make_problem(const Settings& settings) const override {
    return std::make_unique<PoolProblem>(
        parse_pool(settings.at("problem")), pool_direction(settings.at("direction")),
        pool_mode(settings.at("mode")), precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return pool_oracle(problem_cast<PoolProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& pool_benchmark() {
  static const PoolBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
