#pragma once
// The items of data analysis (item.hpp). Each computes one element of its output; cuBLAS computes
// the sums. Matrices are row-major: observations of d features are adjacent.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

struct Fill {
  double value;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[i] = value; }
};

template <class Real>
struct Widen {
  const Real* from;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[i] = static_cast<double>(from[i]); }
};

/// to = x - shift, for each observation.
template <class Real>
struct Centre {
  const Real *x, *shift;
  double* to;
  std::int64_t d;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    to[i] = static_cast<double>(x[i]) - static_cast<double>(shift[i % d]);
  }
};

/// to = (x, 1) for observations with 0 < s < 1, else 0: rows of d + 1 elements.
template <class Real>
struct Select {
  const Real *x, *s;
  double* to;
  std::int64_t d;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t row = i / (d + 1), j = i % (d + 1);
    const bool chosen = s[row] > 0 && s[row] < 1;
    to[i] = !chosen ? 0 : j == d ? 1 : static_cast<double>(x[row * d + j]);
  }
};

/// Half of the squared norm of each centroid.
template <class Real>
struct HalfNorm {
  const Real* centroids;
  Real* to;
  std::int64_t d;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    double sum = 0;
    for (std::int64_t j = 0; j < d; ++j) {
      const auto value = static_cast<double>(centroids[c * d + j]);
      sum += value * value;
    }
    to[c] = static_cast<Real>(sum / 2);
  }
};

/// The label of an observation: the centroid with the smallest half_norm - product, the first of
/// equal ones. Also writes its column of the one-hot matrix [k, rows], which is 1 at the label.
template <class Real>
struct Assign {
  const Real *half_norms, *products;  ///< [k], [rows, k]
  std::int32_t* labels;
  double* one_hot;
  std::int64_t k, rows;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const Real* const of = products + i * k;
    std::int64_t best = 0;
    Real least = half_norms[0] - of[0];
    for (std::int64_t c = 1; c < k; ++c) {
      const Real score = half_norms[c] - of[c];
      if (!(score < least)) continue;
      best = c;
      least = score;
    }
    labels[i] = static_cast<std::int32_t>(best);
    for (std::int64_t c = 0; c < k; ++c) one_hot[c * rows + i] = c == best ? 1 : 0;
  }
};

/// The squared difference of an element from that of its centroid.
template <class Real>
struct SquaredDifference {
  const Real *x, *centroids;
  const std::int32_t* labels;
  double* to;
  std::int64_t d;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const double off =
        static_cast<double>(x[i]) - static_cast<double>(centroids[labels[i / d] * d + i % d]);
    to[i] = off * off;
  }
};

/// For an observation: s, and its column of the terms [5, rows]: max(z, 0), s, s z, s^2, s y.
template <class Real>
struct Margin {
  const Real *dots, *y, *intercept, *slope;
  Real* s;
  double* terms;
  std::int64_t rows;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto label = static_cast<double>(y[i]);
    const double z = 1 - label * (static_cast<double>(dots[i]) + static_cast<double>(*intercept)),
                 raw = static_cast<double>(*slope) * z,
                 of = raw < 0   ? 0
                      : raw > 1 ? 1
                                : raw;  // keeps NaN
    s[i] = static_cast<Real>(of);
    terms[i] = z < 0 ? 0 : z;
    terms[rows + i] = of;
    terms[2 * rows + i] = of * z;
    terms[3 * rows + i] = of * of;
    terms[4 * rows + i] = of * label;
  }
};

}  // namespace assay::cuda
