#pragma once
// The items (item.hpp, warp.hpp) of the squared error (kernels/squared_error/problem.hpp). A warp
// takes a tile of a sample's features; SumStage adds the tiles in fp64.

#include <cmath>

#include "kernels/cuda/warp.hpp"

namespace assay::cuda {

template <class Stored>
struct SquaredErrorInputs {
  const Stored *outputs, *targets;
  std::int64_t samples, features;
};

/// Outputs x and targets t of a sample, and both less their first value, so that equal values have
/// no deviations.
template <class Stored, int width>
struct SquaredErrorRow {
  using Value = ValueOf<Stored>;
  const Stored *outputs, *targets;
  std::int64_t features;
  double first_x, first_t;
  ASSAY_ITEM SquaredErrorRow(const SquaredErrorInputs<Stored>& in, std::int64_t sample)
      : outputs(in.outputs + sample * in.features),
        targets(in.targets + sample * in.features),
        features(in.features),
        first_x(static_cast<double>(widen(outputs[0]))),
        first_t(static_cast<double>(widen(targets[0]))) {}
  ASSAY_ITEM double shift_x(Value x) const { return static_cast<double>(x) - first_x; }
  ASSAY_ITEM double shift_t(Value t) const { return static_cast<double>(t) - first_t; }
  /// act(first feature, x, t) for the packs of a lane.
  template <class Act>
  ASSAY_ITEM void each(std::int64_t tile, int lane, const Act& act) const {
    for (int j = 0; j < lane_columns; j += width)
      if (const std::int64_t f = find_column<width>(tile, lane, j); f < features) {
        Value x[width], t[width];
        load<width>(outputs + f, x);
        load<width>(targets + f, t);
        act(f, x, t);
      }
  }
};

/// to[tile][sample] = {sum of x, sum of t}.
template <class Stored, int width>
struct SquaredErrorMeans {
  using Value = ValueOf<Stored>;
  SquaredErrorInputs<Stored> in;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t tile = warp.number / in.samples;
    const SquaredErrorRow<Stored, width> row(in, warp.number % in.samples);
    Lanes<Sums> sums = {};
    warp.each([&](int lane) {
      row.each(tile, lane, [&](std::int64_t, const Value* x, const Value* t) {
        for (int j = 0; j < width; ++j) {
          sums[lane].x += row.shift_x(x[j]);
          sums[lane].t += row.shift_t(t[j]);
        }
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
    ASSAY_ITEM Sums operator+(const Sums& other) const { return {x + other.x, t + other.t}; }
  };
};

/// to[tile][sample] = sums of {(x - t)^2, dx^2, dt^2, dx dt}; and the gradients, if there is a
/// scale. `means`: the sums [sample] of all tiles.
template <class Stored, int width>
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
    const SquaredErrorRow<Stored, width> row(in, sample);
    const auto count = static_cast<double>(in.features);
    const double of_x = means[2 * sample] / count, of_t = means[2 * sample + 1] / count;
    const Value by = scale == nullptr
                         ? Value(0)
                         : static_cast<Value>(2 * static_cast<double>(*scale) /
                                              static_cast<double>(in.features * in.samples));
    Lanes<Sums> sums = {};
    warp.each([&](int lane) {
      row.each(tile, lane, [&](std::int64_t f, const Value* x, const Value* t) {
        Value g[width];
        for (int j = 0; j < width; ++j) {
          const double apart = static_cast<double>(x[j]) - static_cast<double>(t[j]),
                       dx = row.shift_x(x[j]) - of_x, dt = row.shift_t(t[j]) - of_t;
          sums[lane] = sums[lane] + Sums{apart * apart, dx * dx, dt * dt, dx * dt};
          g[j] = by * (x[j] - t[j]);
        }
        if (scale != nullptr) store<width>(g, gradients + sample * in.features + f);
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
    ASSAY_ITEM Sums operator+(const Sums& other) const {
      return {squares + other.squares, xx + other.xx, tt + other.tt, xt + other.xt};
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
