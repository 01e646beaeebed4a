// Chooses the outputs that are compared with the reference if all would cost too much: those where
// implementations go wrong (the first and last of everything, the edges that padding makes, the
// last partial block of channels and of tiles), and a random rest.

#include <array>

#include "kernels/conv/geometry.hpp"
#include "kernels/conv/parts.hpp"
#include "kernels/oracle/sampling.hpp"

namespace assay::convolution {
namespace {

using sampling::Marks;

std::vector<std::int64_t> channel_marks(std::int64_t channels, std::int64_t groups) {
  Marks marks(channels);
  for (std::int64_t block : {4, 8, 16, 32, 64}) marks.add_blocks(block);
  if (groups > 1) marks.add_blocks(channels / groups);
  return marks.take();
}

/// Coordinates to mark: of the outputs of forward (`of_input` false), or of the inputs whose
/// gradients bwd_data writes.
std::vector<std::int64_t> spatial_marks(const Axis& axis, bool of_input) {
  Marks marks(of_input ? axis.in : axis.out);
  for (std::int64_t tile : {2, 4, 6, 8, 16}) marks.add_blocks(tile);
  // The first and the last window that lie wholly inside.
  const std::int64_t reach = (axis.taps - 1) * axis.step;
  const std::int64_t first = (axis.pad + axis.stride - 1) / axis.stride;
  const std::int64_t end = (axis.in - 1 + axis.pad - reach) / axis.stride;
  for (std::int64_t near : {-1, 0, 1}) {
    marks.add(of_input ? reach - axis.pad + near : first + near);
    marks.add(of_input ? (axis.out - 1) * axis.stride - axis.pad + near : end + near);
  }
  return marks.take();
}

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
  return sampling::choose_elements(
      extents, marks, static_cast<double>(reduction(s, problem.direction())), budget, seed);
}

}  // namespace assay::convolution
