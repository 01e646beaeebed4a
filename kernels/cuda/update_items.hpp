#pragma once
// The items (warp.hpp) of the update of parameters. Tensors are divided into blocks, each of which
// has a warp, whose lanes access adjacent packs of parameters together. A tensor may begin anywhere
// in memory, so a block may have a part of a pack at either end.

#include <cmath>

#include "kernels/cuda/warp.hpp"

namespace assay::cuda {

inline constexpr std::int64_t update_block = 4096;  ///< parameters

struct UpdateBlock {
  std::int64_t begin;
  std::int32_t count, tensor;

  /// act(first, integral_constant of the count) for the packs of a lane, of `width` or one.
  template <int width, class Act>
  ASSAY_ITEM void each_pack(int lane, const Act& act) const {
    const std::int64_t end = begin + count;
    for (std::int64_t at = (begin / width + lane) * width; at < end; at += warp_lanes * width) {
      if (at >= begin && at + width <= end) {
        act(at, std::integral_constant<int, width>());
        continue;
      }
      for (std::int64_t one = at < begin ? begin : at; one < at + width && one < end; ++one)
        act(one, std::integral_constant<int, 1>());
    }
  }
};

/// Sums over parameters, in fp64.
struct UpdateSums {
  double gradient = 0, weights = 0;  ///< squares
  double not_finite = 0, zeros = 0;  ///< elements of the gradient
  ASSAY_ITEM UpdateSums operator+(const UpdateSums& of) const {
    return {gradient + of.gradient, weights + of.weights, not_finite + of.not_finite,
            zeros + of.zeros};
  }
};

/// The sum of from [count], by a warp: in every lane.
ASSAY_ITEM UpdateSums add_up(const Warp& warp, const UpdateSums* from, std::int64_t count) {
  Lanes<UpdateSums> sums = {};
  warp.each([&](int lane) {
    for (std::int64_t i = lane; i < count; i += warp_lanes) sums[lane] = sums[lane] + from[i];
  });
  warp.add_up(sums);
  return sums.of[0];
}

/// The sums of a block.
template <class Value>
struct SumParameters {
  const Value *gradient, *weights;
  const UpdateBlock* blocks;
  UpdateSums* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const UpdateBlock block = blocks[warp.number];
    Lanes<UpdateSums> sums = {};
    warp.each([&](int lane) {
      UpdateSums& of = sums[lane];
      block.each_pack<widest<Value>>(lane, [&](std::int64_t at, auto width) {
        constexpr int count = decltype(width)::value;
        Value gradients[count], values[count];
        load<count>(gradient + at, gradients);
        load<count>(weights + at, values);
        for (int j = 0; j < count; ++j) {
          const auto g = static_cast<double>(gradients[j]), w = static_cast<double>(values[j]);
          of.gradient += g * g;
          of.weights += w * w;
          // infinity - infinity and NaN - NaN are NaN, which is not equal to 0.
          of.not_finite += g - g == 0 ? 0 : 1;
          of.zeros += g == 0 ? 1 : 0;
        }
      });
    });
    warp.add_up(sums);
    warp.each([&](int lane) {
      if (lane == 0) to[warp.number] = sums[lane];
    });
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
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t t = warp.number;
    const UpdateTensorBlocks tensor = tensors[t];
    const UpdateSums sums = add_up(warp, of_blocks + tensor.first, tensor.last - tensor.first);
    warp.each([&](int lane) {
      if (lane > 0) return;
      of_tensors[t] = sums;
      steps[t] = step(tensor, sums);
    });
  }

 private:
  ASSAY_ITEM UpdateStep<Value> step(const UpdateTensorBlocks& tensor,
                                    const UpdateSums& sums) const {
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
    return {static_cast<Value>(constants.momentum), static_cast<Value>(factor * off),
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
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const UpdateSums sums = add_up(warp, of_tensors, tensors);
    warp.each([&](int lane) {
      if (lane > 0) return;
      norms[0] = std::fabs(static_cast<double>(*unscale)) * std::sqrt(sums.gradient);
      norms[1] = std::sqrt(sums.weights);
      counts[0] = sums.not_finite;
      counts[1] = sums.zeros;
    });
  }
};

/// The new parameters of a block (unchanged if `not_finite` is above 0), their 16-bit copies, and
/// the number of stale ones.
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
    const Warp warp(i);
    if (warp.idle()) return;
    const UpdateBlock block = blocks[warp.number];
    const UpdateStep<Value> step = steps[block.tensor];
    const bool finite = *not_finite == 0;
    Lanes<double> unmoved = {};
    warp.each([&](int lane) {
      block.each_pack<widest<Value>>(lane, [&](std::int64_t at, auto width) {
        unmoved[lane] += update<decltype(width)::value>(at, step, finite);
      });
    });
    warp.add_up(unmoved);
    warp.each([&](int lane) {
      if (lane == 0) stale[warp.number] = unmoved[lane];
    });
  }

 private:
  /// Updates `count` parameters; the number of those that are stale.
  template <int count>
  ASSAY_ITEM int update(std::int64_t at, const UpdateStep<Value>& step, bool finite) const {
    Value w[count], v[count], g[count];
    int unmoved = 0;
    load<count>(weights + at, w);
    if (finite) {
      load<count>(velocity + at, v);
      load<count>(gradient + at, g);
      for (int j = 0; j < count; ++j) {
        v[j] = step.momentum * v[j] + (step.of_gradient * g[j] + step.of_weight * w[j]);
        const Value moved = step.of_velocity * v[j], after = w[j] - moved;
        unmoved += after == w[j] && moved != 0 ? 1 : 0;
        w[j] = after;
      }
      store<count>(v, velocity + at);
      store<count>(w, weights + at);
    }
    if constexpr (sizeof(Stored) == 2) store<count>(w, stored + at);
    return unmoved;
  }
};

/// The number of all stale parameters.
struct AddStale {
  const double* stale;
  std::int64_t blocks;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    Lanes<double> sum;
    warp.each([&](int lane) {
      sum[lane] = sum_of(stale + lane, warp_lanes, (blocks - lane + warp_lanes - 1) / warp_lanes);
    });
    warp.add_up(sum);
    warp.each([&](int lane) {
      if (lane == 0) *to = sum[lane];
    });
  }
};

}  // namespace assay::cuda
