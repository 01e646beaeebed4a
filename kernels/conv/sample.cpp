// Which outputs are compared with the reference when all would cost too much: where implementations
// go wrong (the first and last of everything, the edges that padding makes, the last partial block
// of channels and of tiles), and a random rest.

#include <algorithm>
#include <random>

#include "kernels/conv/geometry.hpp"
#include "kernels/conv/parts.hpp"

namespace assay::convolution {
namespace {

/// Coordinates of one output dimension at which something changes.
class Marks {
 public:
  explicit Marks(std::int64_t extent) : extent_(extent) {
    for (std::int64_t at : {std::int64_t{0}, std::int64_t{1}, extent / 2, extent - 2, extent - 1})
      add(at);
  }
  void add(std::int64_t at) {
    if (at >= 0 && at < extent_) at_.push_back(at);
  }
  /// First element of the last block of `size`, the one before it, and the end of the first block.
  void add_blocks(std::int64_t size) {
    const std::int64_t last = (extent_ - 1) / size * size;
    for (std::int64_t at : {last, last - 1, size - 1, size}) add(at);
  }
  std::vector<std::int64_t> take() {
    std::sort(at_.begin(), at_.end());
    at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
    return std::move(at_);
  }

 private:
  std::int64_t extent_;
  std::vector<std::int64_t> at_;
};

std::vector<std::int64_t> channel_marks(std::int64_t channels, std::int64_t groups) {
  Marks marks(channels);
  for (std::int64_t block : {4, 8, 16, 32, 64}) marks.add_blocks(block);
  if (groups > 1) marks.add_blocks(channels / groups);
  return marks.take();
}

/// Of the outputs of forward (`of_input` false), or of the inputs that bwd_data writes.
std::vector<std::int64_t> spatial_marks(const Axis& axis, bool of_input) {
  Marks marks(of_input ? axis.in : axis.out);
  for (std::int64_t tile : {2, 4, 6, 8, 16}) marks.add_blocks(tile);
  // Where windows begin to lie wholly inside, and where they cease to.
  const std::int64_t reach = (axis.taps - 1) * axis.step;
  const std::int64_t first = (axis.pad + axis.stride - 1) / axis.stride;
  const std::int64_t end = (axis.in - 1 + axis.pad - reach) / axis.stride;
  for (std::int64_t near : {-1, 0, 1}) {
    marks.add(of_input ? reach - axis.pad + near : first + near);
    marks.add(of_input ? (axis.out - 1) * axis.stride - axis.pad + near : end + near);
  }
  return marks.take();
}

/// The standard fixes mt19937_64's sequence, so a seed chooses the same outputs on every machine.
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

std::vector<std::int64_t> sample_outputs(const ConvProblem& problem, double budget,
                                         std::uint64_t seed) {
  const ConvShape& s = problem.shape();
  const std::array<Axis, 3> axis = axes(s);
  std::vector<std::int64_t> extents;
  std::vector<std::vector<std::int64_t>> marks;
  const auto add = [&](std::int64_t extent, std::vector<std::int64_t> at) {
    extents.push_back(extent);
    marks.push_back(std::move(at));
  };
  switch (problem.direction()) {
    case ConvDirection::forward:
      add(s.mb, channel_marks(s.mb, 1));
      add(s.oc, channel_marks(s.oc, s.g));
      for (const Axis& a : axis) add(a.out, spatial_marks(a, false));
      break;
    case ConvDirection::bwd_data:
      add(s.mb, channel_marks(s.mb, 1));
      add(s.ic, channel_marks(s.ic, s.g));
      for (const Axis& a : axis) add(a.in, spatial_marks(a, true));
      break;
    case ConvDirection::bwd_weights:
      add(s.oc, channel_marks(s.oc, s.g));
      add(s.ic / s.g, channel_marks(s.ic / s.g, 1));
      for (const Axis& a : axis) add(a.taps, Marks(a.taps).take());
      break;
  }
  std::int64_t all = 1;
  for (std::int64_t extent : extents) all *= extent;
  // An output costs its products and about as much as 32 more, to find its inputs and to be stored;
  // so short reductions do not make samples of millions. A handful is always checked.
  const double each = static_cast<double>(reduction(s, problem.direction())) + 32;
  const double affordable = std::max(budget / each, 16.0);
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
  // Every mark of every dimension, the other coordinates at marks or anywhere, until marks have
  // half of the sample.
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
  // Anywhere. A sample near the whole would draw doubles for long: it then stays a little smaller.
  for (int round = 0; chosen.size() < most && round < 16; ++round) {
    for (std::size_t missing = most - chosen.size(); missing > 0; --missing)
      chosen.push_back(random.below(all));
    tidy();
  }
  return chosen;
}

}  // namespace assay::convolution
