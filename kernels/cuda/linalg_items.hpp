#pragma once
// The items of data analysis (item.hpp, warp.hpp). Matrices are row-major: the d features of an
// observation are adjacent. A warp reads a whole observation at once, and keeps its part of the
// sums over its observations, which are `warps` apart; so neighbouring warps read adjacent memory.
// The parts are added in stages, in a fixed order.

#include "kernels/cuda/warp.hpp"

namespace assay::cuda {

/// Rows of x, less the shift, followed by a one, and zeros up to `columns`, an even number. Rows
/// beyond x are 0; so are, with s, rows whose s is not between 0 and 1. An item writes two
/// elements.
template <class Real>
struct Observe {
  const Real *x, *shift, *s;  ///< shift, s: null if there is none
  double* to;
  std::int64_t rows, d, columns;
  Divisor pairs;  ///< by columns / 2
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t row = pairs.quotient(i), j = 2 * (i - row * pairs.by());
    double values[2] = {};
    if (row < rows && (s == nullptr || (s[row] > 0 && s[row] < 1))) {
      const Real* const from = x + row * d + j;
      Real pair[2] = {};
      if (d % 2 == 0 && j < d)
        load<2>(from, pair);
      else
        for (int e = 0; e < 2; ++e)
          if (j + e < d) pair[e] = from[e];
      for (int e = 0; e < 2; ++e)
        values[e] = j + e > d    ? 0
                    : j + e == d ? 1
                                 : static_cast<double>(pair[e]) -
                                       (shift == nullptr ? 0 : static_cast<double>(shift[j + e]));
    }
    store<2>(values, to + 2 * i);
  }
};

/// The sums of `blocks` symmetric matrices [columns, columns]; only the elements (r, c) with c >= r
/// are read. Writes gram [size, size], both triangles, and the elements (r, size) as sums, if these
/// are wanted.
struct AddMatrices {
  const double* from;
  std::int64_t blocks, columns, size;
  double *gram, *sums;  ///< sums: null if not wanted
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t r = i / columns, c = i % columns;
    if (c < r || c > size || (c == size && sums == nullptr)) return;
    const double sum = add_strided(from + i, columns * columns, blocks);
    if (c == size) {
      sums[r] = sum;
    } else {
      gram[r * size + c] = sum;
      gram[c * size + r] = sum;
    }
  }
};

/// Half of the squared norm of a centroid.
template <class Real>
struct HalfNorm {
  const Real* centroids;
  Real* to;
  std::int64_t d;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    Lanes<double> sum = {};
    warp.each([&](int lane) {
      for (std::int64_t j = lane; j < d; j += warp_lanes) {
        const auto value = static_cast<double>(centroids[warp.number * d + j]);
        sum[lane] += value * value;
      }
    });
    warp.add_up(sum);
    warp.each([&](int lane) {
      if (lane == 0) to[warp.number] = static_cast<Real>(sum[lane] / 2);
    });
  }
};

/// Number of centroids for which a warp holds products with an observation, or sums, at once.
inline constexpr int centroids_at_once = 4;

/// Finds the centroid with the smallest half_norm - product; the first one of equal ones.
template <class Real, int width>
struct NearestCentroid {
  const Real *x, *centroids, *half_norms;
  std::int64_t d, k;

  struct Products {
    Real by_centroid[centroids_at_once];
    ASSAY_ITEM Products operator+(const Products& other) const {
      Products sum = *this;
      for (int c = 0; c < centroids_at_once; ++c) sum.by_centroid[c] += other.by_centroid[c];
      return sum;
    }
  };

  /// Leaves the last tile of the observation in `row`.
  ASSAY_ITEM std::int32_t operator()(const Warp& warp, std::int64_t observation,
                                     Lanes<LaneValues<Real>>& row) const {
    std::int32_t best = 0;
    Real least = 0;
    for (std::int64_t first = 0; first < k; first += centroids_at_once) {
      Lanes<Products> products = {};
      warp.each([&](int lane) {
        for (std::int64_t tile = 0; tile < count_tiles(d); ++tile) {
          row[lane] = load_held<width>(x + observation * d, d, tile, lane);
          for (int c = 0; c < centroids_at_once && first + c < k; ++c) {
            const LaneValues<Real> held =
                load_held<width>(centroids + (first + c) * d, d, tile, lane);
            for (int j = 0; j < lane_columns; ++j)
              products[lane].by_centroid[c] += row[lane].at[j] * held.at[j];
          }
        }
      });
      warp.add_up(products);
      for (int c = 0; c < centroids_at_once && first + c < k; ++c) {
        const Real score =
            half_norms[first + c] - products.values[0].by_centroid[c];  // of all lanes
        if (first + c > 0 && !(score < least)) continue;
        best = static_cast<std::int32_t>(first + c);
        least = score;
      }
    }
    return best;
  }
};

/// The labels of all observations.
template <class Real, int width>
struct FindLabels {
  NearestCentroid<Real, width> nearest;
  std::int64_t n, warps;
  std::int32_t* labels;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    Lanes<LaneValues<Real>> of_row;
    for (std::int64_t row = warp.number; row < n; row += warps) {
      const std::int32_t label = nearest(warp, row, of_row);
      warp.each([&](int lane) {
        if (lane == 0) labels[row] = label;
      });
    }
  }
};

/// The parts of the sums of four centroids, for a tile of the features: sums of the observations,
/// of ones, and of squared differences, in which nothing cancels. A part is a row of sums [k, d],
/// counts [k] and distances [pieces]: one distance for each tile of four centroids.
template <class Real, int width>
struct AddToCentroids {
  NearestCentroid<Real, width> nearest;
  bool finds;  ///< computes the labels; true if there is only one piece
  std::int64_t n, warps, columns;
  std::int32_t* labels;
  double* to;  ///< [warps, columns]

  static constexpr int least_blocks = 2;  ///< so few need not wait for memory: 128 registers each

  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t d = nearest.d, k = nearest.k, piece = warp.number / warps,
                       tile = piece % count_tiles(d),
                       first = piece / count_tiles(d) * centroids_at_once;
    Lanes<LaneValues<double>> sums[centroids_at_once] = {};
    Lanes<std::int32_t> count = {};  // of the centroid first + lane
    Lanes<double> distance = {};
    for (std::int64_t row = warp.number % warps; row < n; row += warps) {
      Lanes<LaneValues<Real>> of_row;
      const std::int32_t label = finds ? nearest(warp, row, of_row) : labels[row];
      if (label < first || label >= first + centroids_at_once) continue;
      warp.each([&](int lane) {
        if (!finds) of_row[lane] = load_held<width>(nearest.x + row * d, d, tile, lane);
        if (finds && lane == 0) labels[row] = label;
        const LaneValues<Real> held =
            load_held<width>(nearest.centroids + label * d, d, tile, lane);
        for (int j = 0; j < lane_columns; ++j) {
          const double off =
              static_cast<double>(of_row[lane].at[j]) - static_cast<double>(held.at[j]);
          distance[lane] += off * off;
        }
        count[lane] += label == first + lane ? 1 : 0;
        for (int c = 0; c < centroids_at_once; ++c)
          if (label == first + c)
            for (int j = 0; j < lane_columns; ++j)
              sums[c][lane].at[j] += static_cast<double>(of_row[lane].at[j]);
      });
    }
    warp.add_up(distance);
    double* const part = to + warp.number % warps * columns;
    warp.each([&](int lane) {
      for (int c = 0; c < centroids_at_once; ++c) {
        if (first + c >= k) break;
        for (int j = 0; j < lane_columns; ++j)
          if (const std::int64_t column = find_column<width>(tile, lane, j); column < d)
            part[(first + c) * d + column] = sums[c][lane].at[j];
      }
      if (tile == 0 && lane < centroids_at_once && first + lane < k)
        part[k * d + first + lane] = static_cast<double>(count[lane]);
      if (lane == 0) part[k * (d + 1) + piece] = distance[lane];
    });
  }
};

/// The last stage of the sums of the parts; adds the distances of all pieces.
struct AddCentroids {
  FewRows parts;
  std::int64_t k, d;
  double *sums, *counts, *inertia;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    if (i < k * d) {
      sums[i] = parts.sum(i);
    } else if (i < k * (d + 1)) {
      counts[i - k * d] = parts.sum(i);
    } else {
      double sum = 0;
      for (std::int64_t column = i; column < parts.columns; ++column) sum += parts.sum(column);
      *inertia = sum;
    }
  }
};

inline constexpr std::int64_t hinge_losses = 4;

/// s of an observation, and the parts of two sums: of the direction, for a tile of its features;
/// and of the losses, which are the sums of max(z, 0), s, s z and s^2. A part is a row of the
/// direction [d + 1] and the losses [4]. Every tile has its own warps, which all compute s.
template <class Real, int width>
struct HingeRows {
  const Real *x, *y, *w, *slope;
  std::int64_t n, d, warps;
  Real* s;
  double* to;  ///< [warps, d + 1 + losses]

  static constexpr int least_blocks = sizeof(Real) == sizeof(float) ? 3 : 2;

  struct Sums {
    LaneValues<double> direction;
    double last, losses[hinge_losses];
  };

  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Warp warp(i);
    if (warp.idle()) return;
    const std::int64_t tile = warp.number / warps;
    Lanes<Sums> sums = {};
    for (std::int64_t row = warp.number % warps; row < n; row += warps) {
      Lanes<LaneValues<Real>> of_row;
      Lanes<Real> dot = {};
      warp.each([&](int lane) {
        for (std::int64_t t = 0; t < count_tiles(d); ++t) {
          const LaneValues<Real> held = load_held<width>(x + row * d, d, t, lane),
                                 by = load_held<width>(w, d, t, lane);
          for (int j = 0; j < lane_columns; ++j) dot[lane] += held.at[j] * by.at[j];
          if (t == tile) of_row[lane] = held;
        }
      });
      warp.add_up(dot);
      warp.each([&](int lane) {
        const Real factor = add(static_cast<double>(dot[lane]), static_cast<double>(y[row]),
                                of_row[lane], sums[lane]);
        if (lane == 0 && tile == 0) s[row] = factor;
      });
    }
    double* const part = to + warp.number % warps * (d + 1 + hinge_losses);
    warp.each([&](int lane) {
      // Every lane holds the sums that do not depend on the features.
      const Sums& all = sums[lane];
      for (int j = 0; j < lane_columns; ++j)
        if (const std::int64_t column = find_column<width>(tile, lane, j); column < d)
          part[column] = all.direction.at[j];
      if (lane > 0 || tile > 0) return;
      part[d] = all.last;
      for (int j = 0; j < hinge_losses; ++j) part[d + 1 + j] = all.losses[j];
    });
  }

 private:
  ASSAY_ITEM Real add(double dot, double label, const LaneValues<Real>& row, Sums& sums) const {
    const double z = 1 - label * (dot + static_cast<double>(w[d])),
                 raw = static_cast<double>(*slope) * z,
                 clipped = raw < 0   ? 0
                           : raw > 1 ? 1
                                     : raw,  // keeps NaN
        factor = clipped * label;
    for (int j = 0; j < lane_columns; ++j)
      sums.direction.at[j] += factor * static_cast<double>(row.at[j]);
    sums.last += factor;
    sums.losses[0] += z < 0 ? 0 : z;
    sums.losses[1] += clipped;
    sums.losses[2] += clipped * z;
    sums.losses[3] += clipped * clipped;
    return static_cast<Real>(clipped);
  }
};

/// The last stage of the sums of the parts.
struct AddHinge {
  FewRows parts;
  std::int64_t d;
  double *direction, *losses;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    (i <= d ? direction + i : losses + (i - d - 1))[0] = parts.sum(i);
  }
};

}  // namespace assay::cuda
