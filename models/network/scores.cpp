#include "models/network/scores.hpp"

#include <span>

#include "core/base/name_table.hpp"
#include "core/base/place.hpp"
#include "models/network/executor.hpp"
#include "models/network/parameters.hpp"

namespace assay {

const std::string& name(Quality quality) {
  static const NameTable<Quality> table({"accuracy", "correlation", "iou"});
  return table[quality];
}

std::vector<double> read_scores(const Executor& executor) {
  const Graph& graph = executor.graph();
  if (graph.correlations != Graph::none) return read_values(executor, graph.correlations);
  if (graph.confusion == Graph::none) return read_values(executor, graph.correct);
  const std::vector<double> counts = read_values(executor, graph.confusion);
  const std::vector<std::int32_t> confusion(counts.begin(), counts.end());
  const std::vector<std::int64_t>& dims = graph.value(graph.confusion).dims;
  const std::size_t cells = place(dims[1] * dims[2]);
  std::vector<double> scores;
  for (std::size_t at = 0; at < confusion.size(); at += cells)
    scores.push_back(iou(std::span(confusion).subspan(at, cells), dims[1]));
  return scores;
}

}  // namespace assay
