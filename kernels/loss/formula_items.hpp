#pragma once
// The reference of a loss as code of one thread, on the host or on a device (core/api/formula.hpp).
// Definitions and shapes: kernels/loss/problem.hpp; bounds: docs/method-training.md.
//
// x = logit + bias is rounded once, and exp's argument x - largest once more; the error of the
// argument is the relative error of exp. Sums over classes have positive terms, so their relative
// error is that of a term plus that of the additions.

#include "kernels/oracle/sum_bound.hpp"

namespace assay::loss {

using sums::Approximate;
using sums::of_functions;

/// One sample: the numbers from which its outputs are computed, beside x.
struct Row {
  double before = 0, after = 0, of_label = 0;  ///< the largest x before the label and after it
                                               ///< (-infinity if there is none), and the x of the
                                               ///< label
  double sum = 0, apart = 0, least = 0;  ///< of exp(x - largest), of largest - x; the smallest x
  double label = 0, factor = 0;          ///< the factor of gradients, scale / samples
  ASSAY_ITEM double largest() const {
    const double other = before > after ? before : after;
    return other > of_label ? other : of_label;
  }
  ASSAY_ITEM double magnitude() const {
    const double a = std::fabs(largest()), b = std::fabs(least);
    return a > b ? a : b;
  }
};
inline constexpr std::int64_t numbers_of_row = sizeof(Row) / sizeof(double);

struct Loss {
  std::int64_t classes = 1;
  double smoothing = 0, u = 0;  ///< of the labels; of the arithmetic

  /// before, after and of_label of a row.
  template <class X>
  ASSAY_ITEM Expected maxima(const X& x, std::int64_t label) const {
    double before = -HUGE_VAL, after = -HUGE_VAL;
    for (std::int64_t c = 0; c < classes; ++c) {
      double& largest = c < label ? before : after;
      if (const double value = x(c); c != label && value > largest) largest = value;
    }
    return {before, after, x(label)};
  }
  /// sum, apart and least of a row.
  template <class X>
  ASSAY_ITEM Expected totals(const X& x) const {
    double largest = x(0), sum = 0, apart = 0, least = x(0);
    for (std::int64_t c = 1; c < classes; ++c)
      if (const double value = x(c); value > largest) largest = value;
    for (std::int64_t c = 0; c < classes; ++c) {
      const double value = x(c);
      sum += std::exp(value - largest);
      apart += largest - value;
      if (value < least) least = value;
    }
    return {sum, apart, least};
  }

  ASSAY_ITEM Approximate loss(const Row& row) const {
    const double e = smoothing, c = static_cast<double>(classes), log = std::log(row.sum),
                 largest = row.largest(), magnitude = row.magnitude();
    return {log + (1 - e) * (largest - row.of_label) + e * row.apart / c,
            of_sum(magnitude) +
                u * (of_functions * std::log(c + 1) + 6 * magnitude + 2 * (largest - row.least)) +
                e * u * (c / 2 + 2) * magnitude};
  }

  /// Either answer is right if the sums of logit and bias differ by less than their roundings.
  ASSAY_ITEM Approximate correct(const Row& row) const {
    const double tolerance = 2 * u * row.magnitude(),
                 rival = row.before > row.after ? row.before : row.after;
    if (rival > row.of_label + tolerance) return {0, 0};
    return {row.before >= row.of_label || row.after > row.of_label ? 0.0 : 1.0,
            rival > row.of_label - tolerance ? 1.0 : 0.0};
  }

  ASSAY_ITEM Approximate gradient(const Row& row, std::int64_t class_, double x) const {
    const double e = smoothing, apart = row.largest() - x, p = std::exp(-apart) / row.sum,
                 q = (static_cast<double>(class_) == row.label ? 1 - e : 0) +
                     e / static_cast<double>(classes),
                 magnitude = row.magnitude();
    return {row.factor * (p - q),
            std::fabs(row.factor) *
                (p * (of_exp(magnitude, apart) + of_sum(magnitude) + 2 * u) + 4 * u * (p + q))};
  }

 private:
  /// The relative error of one exponential.
  ASSAY_ITEM double of_exp(double magnitude, double apart) const {
    return u * (of_functions + 2 * magnitude + apart);
  }
  /// Terms far below the largest one have larger errors, but are a smaller part of the sum.
  ASSAY_ITEM double of_sum(double magnitude) const {
    const double c = static_cast<double>(classes);
    return of_exp(magnitude, 1 + std::log(c)) + (c + 1) * u / 2;
  }
};

/// x of a sample. A table begins with the biases of all classes.
template <class In>
struct SampleAt {
  const In& in;
  const double* bias;
  std::int64_t first;
  ASSAY_ITEM double operator()(std::int64_t c) const { return in(0, first + c) + bias[c]; }
};

/// Two elements of each sample: maxima() and totals(). Input: logits. Table: biases, labels.
struct RowParts {
  static constexpr const char* name = "loss rows";
  Loss loss;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const SampleAt<In> x{in, table, i / 2 * loss.classes};
    return i % 2 == 0 ? loss.maxima(x, static_cast<std::int64_t>(table[loss.classes + i / 2]))
                      : loss.totals(x);
  }
};

/// The gradient of element i of the logits, the input. Table: biases, rows.
template <class In>
ASSAY_ITEM Approximate gradient(const Loss& loss, const In& in, const double* table,
                                std::int64_t i) {
  const std::int64_t c = i % loss.classes;
  const Row& row = reinterpret_cast<const Row*>(table + loss.classes)[i / loss.classes];
  return loss.gradient(row, c, in(0, i) + table[c]);
}

struct DiffLogits {
  static constexpr const char* name = "loss diff_logits";
  Loss loss;
  sums::SumBound bound;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const Approximate near = gradient(loss, in, table, i);
    return bound.rounded(near.value, near.error, near.error);
  }
};

/// Sums of gradients, of their errors, and of their magnitudes.
struct GradientSums {
  static constexpr const char* name = "loss gradient sums";
  static constexpr int terms = 3;
  static constexpr int magnitudes[terms] = {2, 1, 2};  ///< the sum that bounds each
  Loss loss;
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double* table, std::int64_t i,
                             double* term) const {
    const Approximate near = gradient(loss, in, table, i);
    term[0] = near.value;
    term[1] = near.error;
    term[2] = std::fabs(near.value);
  }
};

}  // namespace assay::loss
