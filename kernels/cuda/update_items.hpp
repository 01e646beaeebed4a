#pragma once
// The items (item.hpp) of the update of parameters. Tensors are divided into blocks. 32 threads,
// the lanes of a block, access adjacent parameters together.

#include <cmath>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

inline constexpr std::int64_t update_lanes = 32;
inline constexpr std::int64_t update_block = 4096;  ///< parameters

struct UpdateBlock {
  std::int64_t begin;
  std::int32_t count, tensor;
};

/// Sums over parameters, in fp64.
struct UpdateSums {
  double gradient = 0, weights = 0;  ///< squares
  double not_finite = 0, zeros = 0;  ///< elements of the gradient
  ASSAY_ITEM void add(const UpdateSums& of) {
    gradient += of.gradient;
    weights += of.weights;
    not_finite += of.not_finite;
    zeros += of.zeros;
  }
};

/// The sums of a lane of a block.
template <class Value>
struct SumParameters {
  const Value *gradient, *weights;
  const UpdateBlock* blocks;
  UpdateSums* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const UpdateBlock block = blocks[i / update_lanes];
    UpdateSums sums;
    for (std::int64_t j = i % update_lanes; j < block.count; j += update_lanes) {
      const auto g = static_cast<double>(gradient[block.begin + j]),
                 w = static_cast<double>(weights[block.begin + j]);
      sums.gradient += g * g;
      sums.weights += w * w;
      // infinity - infinity and NaN - NaN are NaN, which is not equal to 0.
      sums.not_finite += g - g == 0 ? 0 : 1;
      sums.zeros += g == 0 ? 1 : 0;
    }
    to[i] = sums;
  }
};

/// The sums of a block: of its lanes.
struct AddLanes {
  const UpdateSums* from;
  UpdateSums* to;
  ASSAY_ITEM void operator()(std::int64_t block) const {
    UpdateSums sums;
    for (std::int64_t lane = 0; lane < update_lanes; ++lane)
      sums.add(from[block * update_lanes + lane]);
    to[block] = sums;
  }
};

/// v = momentum v + of_gradient g + of_weight w, w -= of_velocity v.
template <class Value>
struct UpdateStep {
  Value momentum, of_gradient, of_weight, of_velocity;
};

struct UpdateTensorBlocks {
  std::int64_t first, last;  ///< blocks
  bool decays, adapts;
};

/// Rule and constants of kernels/update/problem.hpp.
struct UpdateConstants {
  bool lars, larc;
  double momentum, weight_decay, coefficient;
};

/// The sums of a tensor, and its step, which depends on its norms.
template <class Value>
struct MakeStep {
  UpdateConstants constants;
  const UpdateTensorBlocks* tensors;
  const UpdateSums* of_blocks;
  const Value *rate, *unscale;
  UpdateSums* of_tensors;
  UpdateStep<Value>* steps;
  ASSAY_ITEM void operator()(std::int64_t t) const {
    const UpdateTensorBlocks tensor = tensors[t];
    UpdateSums sums;
    for (std::int64_t block = tensor.first; block < tensor.last; ++block)
      sums.add(of_blocks[block]);
    of_tensors[t] = sums;
    const auto by = static_cast<double>(*rate), off = static_cast<double>(*unscale);
    const double g = std::fabs(off) * std::sqrt(sums.gradient), w = std::sqrt(sums.weights),
                 decay = tensor.decays ? constants.weight_decay : 0;
    const bool adapts = (constants.lars || constants.larc) && tensor.adapts && g > 0 && w > 0;
    const double trust = adapts ? constants.coefficient * w / (g + decay * w) : 1;
    double factor = 1;
    if (constants.lars)
      factor = by * trust;
    else if (adapts && by > 0)
      factor = trust < by ? trust / by : 1;
    steps[t] = {static_cast<Value>(constants.momentum), static_cast<Value>(factor * off),
                static_cast<Value>(factor * decay), static_cast<Value>(constants.lars ? 1 : by)};
  }
};

/// The norms [2] of all tensors, and the first two of the counts [3].
template <class Value>
struct MakeNorms {
  const UpdateSums* of_tensors;
  std::int64_t tensors;
  const Value* unscale;
  double *norms, *counts;
  ASSAY_ITEM void operator()(std::int64_t) const {
    UpdateSums sums;
    for (std::int64_t t = 0; t < tensors; ++t) sums.add(of_tensors[t]);
    norms[0] = std::fabs(static_cast<double>(*unscale)) * std::sqrt(sums.gradient);
    norms[1] = std::sqrt(sums.weights);
    counts[0] = sums.not_finite;
    counts[1] = sums.zeros;
  }
};

/// The new parameters of a lane of a block (unchanged if `not_finite` is above 0), their 16-bit
/// copies, and the number of stale ones.
template <class Value, class Stored>
struct UpdateParameters {
  const Value* gradient;
  const UpdateBlock* blocks;
  const UpdateStep<Value>* steps;
  const double* not_finite;
  Value *weights, *velocity;
  Stored* stored;  ///< null if there are no copies
  double* stale;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const UpdateBlock block = blocks[i / update_lanes];
    const UpdateStep<Value> step = steps[block.tensor];
    const bool finite = *not_finite == 0;
    double count = 0;
    for (std::int64_t j = i % update_lanes; j < block.count; j += update_lanes) {
      const std::int64_t at = block.begin + j;
      Value w = weights[at];
      if (finite) {
        const Value v = step.momentum * velocity[at] +
                        (step.of_gradient * gradient[at] + step.of_weight * w),
                    moved = step.of_velocity * v, after = w - moved;
        count += after == w && moved != 0 ? 1 : 0;
        velocity[at] = v;
        weights[at] = w = after;
      }
      if constexpr (sizeof(Stored) == 2) stored[at] = narrow<Stored>(w);
    }
    stale[i] = count;
  }
};

}  // namespace assay::cuda
