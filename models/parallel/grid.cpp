#include "models/parallel/grid.hpp"

#include <fmt/format.h>

namespace assay {

Grid::Grid(Communicator& all, int size) : all_(all), size_(size) {
  if (all.size() == size) return;
  group_ = all.split(all.rank() / size, all.rank());
  replicas_ = all.split(all.rank() % size, all.rank());
}

std::string why_no_grid(const Parallel& way, int ranks, const std::string& part) {
  if (way.replicated ? ranks % way.number == 0 && ranks > way.number : ranks == way.number)
    return "";
  return fmt::format(
      "--parallel {}: each {} is a rank, and there are {} ranks. Start {} of them.", to_text(way),
      part, ranks,
      way.replicated ? fmt::format("2 or more times {}", way.number) : std::to_string(way.number));
}

}  // namespace assay
