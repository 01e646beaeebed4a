// Sums of products of outputs by a device, so that the inputs of a network need not cross to the
// host.

#include "kernels/oracle/device_sums.hpp"

#include <stdexcept>

#include "kernels/conv/formula_items.hpp"
#include "kernels/conv/geometry.hpp"
#include "kernels/conv/parts.hpp"

namespace assay::convolution {
namespace {

Products make_products(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  Products products{Products::Kind::dst, s.g, s.ic / s.g, s.oc / s.g, {}, s.mb};
  if (problem.direction() == ConvDirection::bwd_data) products.kind = Products::Kind::diff_src;
  if (problem.direction() == ConvDirection::bwd_weights)
    products.kind = Products::Kind::diff_weights;
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

std::optional<std::vector<sums::Terms>> sums_there(
    Prover& prover, const ConvProblem& problem, const Inputs& inputs,
    std::span<const std::int64_t> indices,
    const std::function<sums::Terms(std::int64_t output)>& here) {
  const std::vector<TensorSpec> tensors = problem.tensors();
  const auto right = [&](std::int64_t output) {
    const sums::Terms sum = here(output);
    if (sum.count != products_in(problem, output))
      throw std::logic_error("products of a convolution are counted in two ways that differ");
    return sum;
  };
  auto all = sums::sums_of_device(prover, make_products(problem),
                                  reduction(problem.shape(), problem.direction()),
                                  {tensors[0].name, tensors[1].name}, inputs,
                                  problem.precision() == Precision::fp64, indices, right);
  for (std::size_t i = 0; all && i < all->size(); ++i)
    (*all)[i].count = products_in(problem, indices[i]);
  return all;
}

}  // namespace assay::convolution
