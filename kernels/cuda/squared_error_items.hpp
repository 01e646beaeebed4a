#pragma once
// The items (item.hpp, warp.hpp) of the squared error (kernels/squared_error/problem.hpp). A warp
// takes a tile of a sample's features; AddUp adds the tiles in fp64.

#include <cmath>

#include "kernels/cuda/warp.hpp"

namespace assay::cuda {

/// Outputs x and targets t, each less the first of its sample: so equal ones have no deviations.
template <class Stored>
struct SquaredErrorInputs {
  const Stored *outputs, *targets;
  std::int64_t samples, features;

  ASSAY_ITEM double x(std::int64_t sample, std::int64_t f) const {
    return from(outputs, sample, f);
  }
  ASSAY_ITEM double t(std::int64_t sample, std::int64_t f) const {
    return from(targets, sample, f);
  }
  /// act(f) for the features of a lane.
  template <class Act>
  ASSAY_ITEM void each(std::int64_t tile, int lane, const Act& act) const {
    for (int j = 0; j < lane_columns; ++j)
      if (const std::int64_t f = column_of<1>(tile, lane, j); f < features) act(f);
  }

 private:
  ASSAY_ITEM double from(const Stored* all, std::int64_t sample, std::int64_t f) const {
    const Stored* const row = all + sample * features;
    return static_cast<double>(widen(row[f])) - static_cast<double>(widen(row[0]));
  }
};

/// to[tile][sample] = {sum of x, sum of t}.
template <class Stored>
struct SquaredErrorMeans {
  SquaredErrorInputs<Stored> in;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t tile = warp.number / in.samples, sample = warp.number % in.samples;
    Lanes<Sums> sums = {};
    warp.each([&](int lane) {
      in.each(tile, lane, [&](std::int64_t f) {
        sums[lane].x += in.x(sample, f);
        sums[lane].t += in.t(sample, f);
      });
    });
    warp.add_up(sums);
    warp.each([&](int lane) {
      if (lane > 0) return;
      to[2 * warp.number] = sums[lane].x;
      to[2 * warp.number + 1] = sums[lane].t;
    });
  }

 private:
  struct Sums {
    double x, t;
    ASSAY_ITEM Sums operator+(const Sums& of) const { return {x + of.x, t + of.t}; }
  };
};

/// to[tile][sample] = sums of {(x - t)^2, dx^2, dt^2, dx dt}; and the gradients, if there is a
/// scale. `means`: the sums [sample] of all tiles.
template <class Stored>
struct SquaredErrorSums {
  using Value = ValueOf<Stored>;
  SquaredErrorInputs<Stored> in;
  const double* means;
  const Value* scale;
  Stored* gradients;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t tile = warp.number / in.samples, sample = warp.number % in.samples;
    const auto count = static_cast<double>(in.features);
    const double of_x = means[2 * sample] / count, of_t = means[2 * sample + 1] / count;
    const Value by = scale == nullptr
                         ? Value(0)
                         : static_cast<Value>(2 * static_cast<double>(*scale) /
                                              static_cast<double>(in.features * in.samples));
    Lanes<Sums> sums = {};
    warp.each([&](int lane) {
      in.each(tile, lane, [&](std::int64_t f) {
        const std::int64_t at = sample * in.features + f;
        const Value x = widen(in.outputs[at]), t = widen(in.targets[at]);
        const double apart = static_cast<double>(x) - static_cast<double>(t),
                     dx = in.x(sample, f) - of_x, dt = in.t(sample, f) - of_t;
        sums[lane] = sums[lane] + Sums{apart * apart, dx * dx, dt * dt, dx * dt};
        if (scale != nullptr) gradients[at] = narrow<Stored>(by * (x - t));
      });
    });
    warp.add_up(sums);
    warp.each([&](int lane) {
      if (lane > 0) return;
      double* const own = to + 4 * warp.number;
      own[0] = sums[lane].squares;
      own[1] = sums[lane].xx;
      own[2] = sums[lane].tt;
      own[3] = sums[lane].xt;
    });
  }

 private:
  struct Sums {
    double squares, xx, tt, xt;
    ASSAY_ITEM Sums operator+(const Sums& of) const {
      return {squares + of.squares, xx + of.xx, tt + of.tt, xt + of.xt};
    }
  };
};

/// The loss and the correlation of a sample, from the sums [sample] of all tiles.
template <class Value>
struct SquaredErrorResults {
  const double* sums;
  std::int64_t features;
  Value *losses, *correlations;
  ASSAY_ITEM void operator()(std::int64_t sample) const {
    const double* const own = sums + 4 * sample;
    losses[sample] = static_cast<Value>(own[0] / static_cast<double>(features));
    const double size = std::sqrt(own[1]) * std::sqrt(own[2]), r = size == 0 ? 0 : own[3] / size;
    correlations[sample] = static_cast<Value>(r > 1 ? 1 : r < -1 ? -1 : r);
  }
};

}  // namespace assay::cuda
