#include "kernels/resize/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/resize/problem.hpp"

namespace assay {

const OperationBenchmark& resize_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "resize",
       .description = "Bilinear resizing of activations.",
       .directions = resize_direction_names(),
       .variants = {make_dimension(
           "coordinates",
           "position of outputs among inputs: PyTorch's align_corners=False, or True",
           resize_coordinates_names(), {resize_coordinates_names().front()}, "",
           resize_coordinates_names().front())},
       .backend = "onednn",
       .problem = "deeplab",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<ResizeProblem>(parse_resize(text),
                                                    resize_direction(settings.at("direction")),
                                                    resize_coordinates(settings.at("coordinates")),
                                                    precision(settings.at("precision")));
           },
       .oracle = of_problems(resize_oracle)});
  return benchmark;
}

}  // namespace assay
