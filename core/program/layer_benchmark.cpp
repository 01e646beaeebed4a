#include "core/program/layer_benchmark.hpp"

namespace assay {

std::vector<Dimension> LayerBenchmark::dimensions() const {
  std::vector<Dimension> all;
  if (!operation_.directions.empty())
    all.push_back(make_dimension("direction", "pass to time", operation_.directions,
                                 {operation_.directions.front()}));
  all.insert(all.end(), operation_.variants.begin(), operation_.variants.end());
  for (Dimension& dimension :
       std::vector{dimension::precision(operation_.precisions, {operation_.precision}),
                   dimension::backend(operation_.kind.empty() ? operation_.name : operation_.kind,
                                      {operation_.backend}),
                   dimension::algorithm({"auto"}), dimension::problem({operation_.problem}),
                   dimension::cache(), dimension::threads()})
    all.push_back(std::move(dimension));
  if (operation_.planes) all.push_back(dimension::layout({"any", "nchw", "nhwc"}));
  all.push_back(dimension::device());
  return all;
}

std::string LayerBenchmark::canonical(const std::string& descriptor) const {
  Settings defaults{{"precision", operation_.precision}};
  if (!operation_.directions.empty()) defaults["direction"] = operation_.directions.front();
  for (const Dimension& variant : operation_.variants)
    defaults[variant.name] = variant.defaults.front();
  return operation_.make(descriptor, defaults)->canonical();
}

}  // namespace assay
