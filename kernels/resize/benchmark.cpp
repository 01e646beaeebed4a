#include "kernels/resize/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/resize/problem.hpp"

namespace assay {

const OperationBenchmark& resize_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "resize",
       .description = "Bilinear resizing of activations.",
       .directions = list_names<ResizeDirection>(),
       .variants = {make_dimension(
           "coordinates",
           "position of outputs among inputs: PyTorch's align_corners=False, or True",
           list_names<ResizeCoordinates>(), {list_names<ResizeCoordinates>().front()}, "",
           list_names<ResizeCoordinates>().front())},
       .backend = "onednn",
       .problem = "deeplab",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<ResizeProblem>(
                 parse_resize(text), parse_name<ResizeDirection>(settings.at("direction")),
                 parse_name<ResizeCoordinates>(settings.at("coordinates")),
                 precision(settings.at("precision")));
           },
       .oracle = of_problems(make_resize_oracle)});
  return benchmark;
}

}  // namespace assay
