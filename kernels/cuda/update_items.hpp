#pragma once
// The items (warp.hpp) of the update of parameters. Tensors are divided into blocks, each of which
// has a warp, whose lanes access adjacent packs of parameters together. A tensor may begin anywhere
// in memory, so a block may have a part of a pack at either end.

#include <cmath>

#include "kernels/cuda/warp.hpp"
#include "kernels/update/step.hpp"

namespace assay::cuda {

inline constexpr std::int64_t update_block = 4096;  ///< parameters

struct UpdateBlock {
  std::int64_t begin;
  std::int32_t count, tensor;

  /// act(first, integral_constant of the count) for the packs of a lane, of `width` or one.
  template <int width, class Act>
  ASSAY_ITEM void each_pack(int lane, const Act& act) const {
    cuda::each_pack<width>(begin, begin + count, lane, act);
  }
};

/// Sums over parameters, in fp64.
struct UpdateSums {
  double gradient = 0, weights = 0;  ///< squares
  double not_finite = 0, zeros = 0;  ///< elements of the gradient
  ASSAY_ITEM UpdateSums operator+(const UpdateSums& other) const {
    return {gradient + other.gradient, weights + other.weights, not_finite + other.not_finite,
            zeros + other.zeros};
  }
};

/// The sum of from [count] by a warp; every lane gets it.
ASSAY_ITEM UpdateSums add_up(const Warp& warp, const UpdateSums* from, std::int64_t count) {
  Lanes<UpdateSums> sums = {};
  warp.each([&](int lane) {
    for (std::int64_t i = lane; i < count; i += warp_lanes) sums[lane] = sums[lane] + from[i];
  });
  warp.add_up(sums);
  return sums.values[0];
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
      UpdateSums& own = sums[lane];
      block.each_pack<widest<Value>>(lane, [&](std::int64_t at, auto width) {
        constexpr int count = decltype(width)::value;
        Value gradients[count], values[count];
        load<count>(gradient + at, gradients);
        load<count>(weights + at, values);
        for (int j = 0; j < count; ++j) {
          const auto g = static_cast<double>(gradients[j]), w = static_cast<double>(values[j]);
          own.gradient += g * g;
          own.weights += w * w;
          // infinity - infinity and NaN - NaN are NaN, which is not equal to 0.
          own.not_finite += g - g == 0 ? 0 : 1;
          own.zeros += g == 0 ? 1 : 0;
        }
      });
    });
    warp.add_up(sums);
    warp.each([&](int lane) {
      if (lane == 0) to[warp.number] = sums[lane];
    });
  }
};

struct UpdateTensorBlocks {
  std::int64_t first, last;  ///< blocks
  bool decays, adapts;
};

/// Rule and constants of kernels/update/problem.hpp.
struct UpdateConstants {
  bool lars, larc, decoupled, lamb;
  UpdateLoop loop;
  double momentum, weight_decay, coefficient, beta1, beta2, epsilon;  ///< beta2: rmsprop's alpha
};

/// The sums of a tensor, and its step, which depends on its norms.
template <class Value>
struct MakeStep {
  UpdateConstants constants;
  const UpdateTensorBlocks* tensors;
  const UpdateSums* of_blocks;
  const Value *rate, *unscale, *number;  ///< number: of this update, of UpdateLoop::moments
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
    UpdateStep<double> update_step{constants.momentum,
                                   factor * off,
                                   constants.decoupled ? 0 : factor * decay,
                                   constants.lars ? 1 : by,
                                   1,
                                   constants.beta2,
                                   1 - constants.beta2,
                                   1,
                                   1,
                                   constants.epsilon,
                                   constants.decoupled ? decay : 0};
    if (constants.loop == UpdateLoop::moments) {
      const auto k = static_cast<double>(*number);
      update_step.keep = constants.beta1;
      update_step.add = 1 - constants.beta1;
      update_step.of_first = -1 / std::expm1(k * std::log(constants.beta1));
      update_step.of_root = 1 / std::sqrt(-std::expm1(k * std::log(constants.beta2)));
    }
    return update_step.template rounded<Value>();
  }
};

/// The states of `count` adjacent parameters, and their steps without of_velocity.
template <class Value, int count>
struct UpdatedPack {
  Value velocity[count] = {}, second[count] = {}, step[count] = {};

  ASSAY_ITEM void make(const UpdateStep<Value>& f, UpdateLoop loop, const Value* g,
                       const Value* w) {
    for (int j = 0; j < count; ++j) {
      const Value h = f.of_gradient * g[j] + f.of_weight * w[j];
      if (loop == UpdateLoop::momentum) {
        step[j] = velocity[j] = f.keep * velocity[j] + h;
        continue;
      }
      second[j] = f.keep_second * second[j] + f.add_second * (h * h);
      const Value root = f.of_root * std::sqrt(second[j]) + f.epsilon;
      velocity[j] = f.keep * velocity[j] + (loop == UpdateLoop::rmsprop ? h / root : f.add * h);
      step[j] = loop == UpdateLoop::rmsprop ? velocity[j]
                                            : f.of_first * velocity[j] / root + f.of_decay * w[j];
    }
  }
};

/// The sum of squares of lamb's directions, for a block, stored in UpdateSums::gradient.
template <class Value>
struct SumDirections {
  const Value *gradient, *weights, *velocity, *second;
  const UpdateBlock* blocks;
  const UpdateStep<Value>* steps;
  UpdateSums* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const UpdateBlock block = blocks[warp.number];
    const UpdateStep<Value> step = steps[block.tensor];
    Lanes<UpdateSums> sums = {};
    warp.each([&](int lane) {
      UpdateSums& own = sums[lane];
      block.each_pack<widest<Value>>(lane, [&](std::int64_t at, auto width) {
        constexpr int count = decltype(width)::value;
        Value g[count], w[count];
        UpdatedPack<Value, count> pack;
        load<count>(gradient + at, g);
        load<count>(weights + at, w);
        load<count>(velocity + at, pack.velocity);
        load<count>(second + at, pack.second);
        pack.make(step, UpdateLoop::moments, g, w);
        for (int j = 0; j < count; ++j)
          own.gradient += static_cast<double>(pack.step[j]) * static_cast<double>(pack.step[j]);
      });
    });
    warp.add_up(sums);
    warp.each([&](int lane) {
      if (lane == 0) to[warp.number] = sums[lane];
    });
  }
};

/// Multiplies the rates of lamb.
template <class Value>
struct TrustDirections {
  const UpdateTensorBlocks* tensors;
  const UpdateSums *of_blocks, *of_tensors;
  const Value* rate;
  UpdateStep<Value>* steps;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const UpdateTensorBlocks tensor = tensors[warp.number];
    const UpdateSums sums = add_up(warp, of_blocks + tensor.first, tensor.last - tensor.first);
    warp.each([&](int lane) {
      if (lane > 0) return;
      const double w = std::sqrt(of_tensors[warp.number].weights), r = std::sqrt(sums.gradient);
      const double trust = tensor.adapts && w > 0 && r > 0 ? w / r : 1;
      steps[warp.number].of_velocity = static_cast<Value>(static_cast<double>(*rate) * trust);
    });
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
  UpdateLoop loop;
  Value *weights, *velocity, *second;  ///< second: null for UpdateLoop::momentum
  Stored* stored;                      ///< null if there are no copies
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
    Value w[count], g[count];
    int unmoved = 0;
    load<count>(weights + at, w);
    if (finite) {
      UpdatedPack<Value, count> pack;
      load<count>(velocity + at, pack.velocity);
      if (loop != UpdateLoop::momentum) load<count>(second + at, pack.second);
      load<count>(gradient + at, g);
      pack.make(step, loop, g, w);
      for (int j = 0; j < count; ++j) {
        const Value moved = step.of_velocity * pack.step[j], after = w[j] - moved;
        unmoved += after == w[j] && moved != 0 ? 1 : 0;
        w[j] = after;
      }
      store<count>(pack.velocity, velocity + at);
      if (loop != UpdateLoop::momentum) store<count>(pack.second, second + at);
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
      sum[lane] =
          add_strided(stale + lane, warp_lanes, (blocks - lane + warp_lanes - 1) / warp_lanes);
    });
    warp.add_up(sum);
    warp.each([&](int lane) {
      if (lane == 0) *to = sum[lane];
    });
  }
};

}  // namespace assay::cuda
