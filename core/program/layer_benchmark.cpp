#include "core/program/layer_benchmark.hpp"

namespace assay {

std::vector<Dimension> LayerBenchmark::dimensions() const {
  std::vector<Dimension> all{
      make_dimension("direction", "pass to time", of_.directions, {of_.directions.front()})};
  all.insert(all.end(), of_.variants.begin(), of_.variants.end());
  for (Dimension& dimension :
       std::vector{dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
                   dimension::backend(of_.name, {of_.backend}), dimension::algorithm({"auto"}),
                   dimension::problem({of_.problem}), dimension::cache(), dimension::threads(),
                   dimension::layout({"any", "nchw", "nhwc"}), dimension::device()})
    all.push_back(std::move(dimension));
  return all;
}

}  // namespace assay
