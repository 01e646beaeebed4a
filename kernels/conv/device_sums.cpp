// Sums of products of outputs, in parts, each by a thread of a device: inputs of a network need not
// cross to the host.

#include "core/api/prover.hpp"
#include "kernels/conv/formula_items.hpp"
#include "kernels/conv/geometry.hpp"
#include "kernels/conv/parts.hpp"

namespace assay::convolution {
namespace {

/// Products that a thread adds.
constexpr std::int64_t products_of_part = 512;

Products products_of(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  Products products{Products::Of::dst, s.g, s.ic / s.g, s.oc / s.g, {}};
  if (problem.direction() == ConvDirection::bwd_data) products.of = Products::Of::diff_src;
  if (problem.direction() == ConvDirection::bwd_weights) products.of = Products::Of::diff_weights;
  const std::array<Axis, 3> all = axes(s);
  for (std::size_t d = 0; d < all.size(); ++d)
    products.at[d] = {all[d].in, all[d].out, all[d].taps, all[d].stride, all[d].step, all[d].pad};
  return products;
}

/// The products along one dimension of an output at `at`, without those that read padding.
std::int64_t products_along(const Axis& axis, ConvDirection direction, std::int64_t at) {
  if (direction == ConvDirection::bwd_weights) {
    const auto [first, last] = axis.outputs(at);
    return last - first;
  }
  std::int64_t count = 0;
  for (std::int64_t t = 0; t < axis.taps; ++t) {
    const std::int64_t in = axis.input(at, t), out = at + axis.pad - t * axis.step;
    count += direction == ConvDirection::forward
                 ? in >= 0 && in < axis.in
                 : out >= 0 && out % axis.stride == 0 && out / axis.stride < axis.out;
  }
  return count;
}

std::int64_t products_in(const ConvProblem& problem, std::int64_t output) {
  const ConvShape& s = problem.shape();
  const ConvDirection direction = problem.direction();
  std::int64_t count = direction == ConvDirection::forward    ? s.ic / s.g
                       : direction == ConvDirection::bwd_data ? s.oc / s.g
                                                              : s.mb;
  const std::array<Axis, 3> all = axes(s);
  for (std::size_t d = all.size(); d-- > 0;) {
    const std::int64_t extent = direction == ConvDirection::forward    ? all[d].out
                                : direction == ConvDirection::bwd_data ? all[d].in
                                                                       : all[d].taps;
    count *= products_along(all[d], direction, output % extent);
    output /= extent;
  }
  return count;
}

}  // namespace

std::optional<std::vector<sums::Terms>> sums_of_device(Prover& prover, const ConvProblem& problem,
                                                       const Inputs& inputs,
                                                       std::span<const std::int64_t> indices) {
  const std::int64_t terms = reduction(problem.shape(), problem.direction()),
                     parts = (terms + products_of_part - 1) / products_of_part;
  std::vector<std::int64_t> wanted;
  for (const std::int64_t index : indices)
    for (std::int64_t part = 0; part < parts; ++part) wanted.push_back(index * parts + part);
  const std::vector<TensorSpec> tensors = problem.tensors();
  const auto found =
      prover.expect(formula_of(PartOfSum{products_of(problem), terms, products_of_part, parts},
                               {tensors[0].name, tensors[1].name}),
                    inputs, wanted);
  if (!found) return std::nullopt;
  std::vector<sums::Terms> all(indices.size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    sums::Terms& sum = all[i / static_cast<std::size_t>(parts)];
    sum.value += (*found)[i].value;
    sum.absolute += (*found)[i].max_bound;
    sum.squares += (*found)[i].rms_bound;
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].count = products_in(problem, indices[i]);
  return all;
}

}  // namespace assay::convolution
