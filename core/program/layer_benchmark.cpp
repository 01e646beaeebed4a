#include "core/program/layer_benchmark.hpp"

namespace assay {

std::vector<Dimension> LayerBenchmark::dimensions() const {
  std::vector<Dimension> all;
  if (!of_.directions.empty())
    all.push_back(
        make_dimension("direction", "pass to time", of_.directions, {of_.directions.front()}));
  all.insert(all.end(), of_.variants.begin(), of_.variants.end());
  for (Dimension& dimension :
       std::vector{dimension::precision(of_.precisions, {of_.precision}),
                   dimension::backend(of_.kind.empty() ? of_.name : of_.kind, {of_.backend}),
                   dimension::algorithm({"auto"}), dimension::problem({of_.problem}),
                   dimension::cache(), dimension::threads()})
    all.push_back(std::move(dimension));
  if (of_.planes) all.push_back(dimension::layout({"any", "nchw", "nhwc"}));
  all.push_back(dimension::device());
  return all;
}

std::string LayerBenchmark::canonical(const std::string& descriptor) const {
  Settings defaults{{"precision", of_.precision}};
  if (!of_.directions.empty()) defaults["direction"] = of_.directions.front();
  for (const Dimension& variant : of_.variants) defaults[variant.name] = variant.defaults.front();
  return of_.make(descriptor, defaults)->canonical();
}

}  // namespace assay
