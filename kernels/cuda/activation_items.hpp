#pragma once
// The items (item.hpp) of activations (kernels/activation/problem.hpp), channels innermost. Each
// computes `width` channels of a row, or of a chunk of rows.

#include <cmath>

#include "kernels/activation/function.hpp"
#include "kernels/cuda/norm_items.hpp"

namespace assay::cuda {

/// The distribution function of the normal distribution.
template <class Value>
ASSAY_ITEM Value normal_distribution(Value z) {
  return (1 + std::erf(z * static_cast<Value>(0.70710678118654752))) / 2;
}

template <class Value>
ASSAY_ITEM Value activate(ActivationFunction function, Value z) {
  switch (function) {
    case ActivationFunction::identity:
      return z;
    case ActivationFunction::relu:
      return z <= 0 ? 0 : z;  // keeps NaN
    case ActivationFunction::sigmoid:
      return 1 / (1 + std::exp(-z));
    case ActivationFunction::tanh:
      return std::tanh(z);
    case ActivationFunction::gelu:
      return z * normal_distribution(z);
    case ActivationFunction::log_sigmoid:
      return (z < 0 ? z : 0 * z) - std::log1p(std::exp(z < 0 ? z : -z));
  }
  return z;
}

/// g f', computed from y = dst (gelu: from y = src + bias).
template <class Value>
ASSAY_ITEM Value activation_gradient(ActivationFunction function, Value g, Value y) {
  switch (function) {
    case ActivationFunction::identity:
      return g;
    case ActivationFunction::relu:
      return y > 0 ? g : 0;
    case ActivationFunction::sigmoid:
      return g * (y * (1 - y));
    case ActivationFunction::tanh:
      return g * (1 - y * y);
    case ActivationFunction::gelu:
      return g * (normal_distribution(y) +
                  y * static_cast<Value>(0.39894228040143268) * std::exp(-y * y / 2));
    case ActivationFunction::log_sigmoid:
      return g * (1 - std::exp(y));
  }
  return g;
}

template <class Stored, int width>
struct Activate {
  using Value = ValueOf<Stored>;
  ActivationFunction function;
  const Stored* src;
  const Value* bias;  ///< null if there is none
  Divisor groups;     ///< packs of a row
  Stored* dst;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t c = (i - groups.quotient(i) * groups.by()) * width;
    Value z[width];
    load<width>(src + i * width, z);
    for (int j = 0; j < width; ++j) {
      if (bias != nullptr) z[j] += bias[c + j];
      z[j] = activate(function, z[j]);
    }
    store<width>(z, dst + i * width);
  }
};

/// Gradients as terms of sums over the rows (NormSums).
template <class Stored, int size>
struct ActivationTerm {
  static constexpr int width = size, at_once = 4;
  using Value = ValueOf<Stored>;
  struct Row {
    Pack<Stored, width> g, y;
  };
  ActivationFunction function;
  const Stored *from, *diff;  ///< from: null if the derivative is 1
  const Value* bias;          ///< added to `from`; null if there is none
  Stored* to;                 ///< null if only sums are needed
  ASSAY_ITEM void find_centre(const NormRows&, std::int64_t c, Value* biases) const {
    for (int j = 0; j < width; ++j) biases[j] = bias == nullptr ? 0 : bias[c + j];
  }
  ASSAY_ITEM Row read_row(std::int64_t at) const {
    Row row = {};
    row.g = read<width>(diff + at);
    if (from != nullptr) row.y = read<width>(from + at);
    return row;
  }
  ASSAY_ITEM void add(std::int64_t at, const Row& row, const Value* biases, Value* sums,
                      Value*) const {
    Value g[width];
    for (int j = 0; j < width; ++j) {
      g[j] = activation_gradient(function, widen(row.g.at[j]), widen(row.y.at[j]) + biases[j]);
      sums[j] += g[j];
    }
    if (to != nullptr) store<width>(g, to + at);
  }
};

template <class Stored, int width>
using ActivationSums = NormSums<ActivationTerm<Stored, width>>;

/// Computes gradients without the sums for a bias.
template <class Stored, int width>
struct ActivationGradient {
  ActivationTerm<Stored, width> term;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    ValueOf<Stored> biases[width] = {}, sums[width] = {};
    term.add(i * width, term.read_row(i * width), biases, sums, nullptr);
  }
};

}  // namespace assay::cuda
