#include "kernels/resize/benchmark.hpp"

#include "kernels/resize/problem.hpp"

namespace assay {
namespace {

class ResizeBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "resize"; }

  std::string description() const override { return "Bilinear resizing of activations."; }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string>&directions = resize_direction_names(),
          &coordinates = resize_coordinates_names();
    return {make_dimension("direction", "pass to time", directions, {directions.front()}),
            make_dimension("coordinates",
                           "where outputs lie among inputs: PyTorch's align_corners=False, or True",
                           coordinates, {coordinates.front()}, "", coordinates.front()),
            dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("resize", {"onednn"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"deeplab"}),
            dimension::cache(),
            dimension::threads(),
            dimension::layout({"any", "nchw", "nhwc"}),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_resize(descriptor));
  }

  std::unique_ptr<Problem> make_problem(const Settings& settings) const override {
    return std::make_unique<ResizeProblem>(
        parse_resize(settings.at("problem")), resize_direction(settings.at("direction")),
        resize_coordinates(settings.at("coordinates")), precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return resize_oracle(problem_cast<ResizeProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& resize_benchmark() {
  static const ResizeBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
