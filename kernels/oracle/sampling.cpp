#include "kernels/oracle/sampling.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>

namespace assay::sampling {
namespace {

/// The standard fixes mt19937_64's sequence, so a seed chooses the same elements on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace

Marks::Marks(std::int64_t extent) : extent_(extent) {
  for (std::int64_t at : {std::int64_t{0}, std::int64_t{1}, extent / 2, extent - 2, extent - 1})
    add(at);
}

void Marks::add(std::int64_t at) {
  if (at >= 0 && at < extent_) at_.push_back(at);
}

void Marks::add_blocks(std::int64_t size) {
  const std::int64_t last = (extent_ - 1) / size * size;
  for (std::int64_t at : {last, last - 1, size - 1, size}) add(at);
}

std::vector<std::int64_t> Marks::take() {
  std::sort(at_.begin(), at_.end());
  at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
  return std::move(at_);
}

std::vector<std::int64_t> choose_elements(const std::vector<std::int64_t>& extents,
                                          const std::vector<std::vector<std::int64_t>>& marks,
                                          double each, double budget, std::uint64_t seed) {
  std::int64_t all = 1;
  for (std::int64_t extent : extents) all *= extent;
  const double affordable = std::max(budget / (each + 32), 16.0);
  std::vector<std::int64_t> chosen;
  if (static_cast<double>(all) <= affordable) {
    chosen.resize(static_cast<std::size_t>(all));
    std::iota(chosen.begin(), chosen.end(), std::int64_t{0});
    return chosen;
  }
  const auto most = static_cast<std::size_t>(affordable);
  const auto tidy = [&] {
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  };
  const auto offset = [&](const std::vector<std::int64_t>& at) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d) index = index * extents[d] + at[d];
    return index;
  };

  Random random(seed);
  std::vector<std::int64_t> at(extents.size());
  // All corners; the very first and last output lead, so that a sample of few has them.
  chosen = {0, all - 1};
  for (std::size_t corner = 0; corner < (std::size_t{1} << extents.size()) && chosen.size() < most;
       ++corner) {
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = (corner >> d & 1) != 0 ? extents[d] - 1 : 0;
    chosen.push_back(offset(at));
  }
  tidy();
  // Every mark of every dimension, until marks make up half of the sample. The other coordinates
  // are marks or random.
  const std::size_t for_marks = std::max(most / 2, std::min<std::size_t>(most, 64));
  for (int round = 0; chosen.size() < for_marks && round < 64; ++round) {
    for (std::size_t d = 0; d < at.size(); ++d)
      for (std::int64_t mark : marks[d]) {
        if (chosen.size() >= for_marks) break;
        for (std::size_t e = 0; e < at.size(); ++e) {
          const auto count = static_cast<std::int64_t>(marks[e].size());
          at[e] = random.below(2) == 0 ? marks[e][static_cast<std::size_t>(random.below(count))]
                                       : random.below(extents[e]);
        }
        at[d] = mark;
        chosen.push_back(offset(at));
      }
    tidy();
  }
  // Random elements. If the sample is nearly as large as the output, drawing the last distinct ones
  // would take long; the sample then stays a little smaller.
  for (int round = 0; chosen.size() < most && round < 16; ++round) {
    for (std::size_t missing = most - chosen.size(); missing > 0; --missing)
      chosen.push_back(random.below(all));
    tidy();
  }
  return chosen;
}

}  // namespace assay::sampling
