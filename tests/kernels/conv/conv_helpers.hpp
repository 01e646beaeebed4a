#pragma once
// The common part of the convolution tests: random shapes, their data, and a brute-force
// convolution of the tests' own.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"
#include "kernels/conv/problem.hpp"

namespace assay::conv_test {

inline constexpr ConvDirection directions[] = {ConvDirection::forward, ConvDirection::bwd_data,
                                               ConvDirection::bwd_weights};

/// A small valid shape with groups, strides, dilation and unequal padding; 1-D, 2-D or 3-D.
inline ConvShape random_shape(std::mt19937& random, bool three = true) {
  const auto pick = [&](int low, int high) {
    return static_cast<std::int64_t>(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (;;) {
    const std::int64_t g = pick(1, 3);
    std::string text = "g" + std::to_string(g) + "mb" + std::to_string(pick(1, 3)) + "ic" +
                       std::to_string(g * pick(1, 4)) + "oc" + std::to_string(g * pick(1, 4));
    const std::int64_t kind = pick(0, three ? 5 : 3);
    const std::string axes = kind >= 5   ? "dhw"
                             : kind == 4 ? "d"
                             : kind == 0 ? "w"
                             : kind == 1 ? "h"
                                         : "hw";
    for (char c : axes) {
      const auto add = [&](char field, std::int64_t value) {
        text += std::string{field, c} + std::to_string(value);
      };
      const std::int64_t in = pick(1, c == 'd' ? 5 : 9), taps = pick(1, 4), stride = pick(1, 3),
                         dilation = pick(0, 2), pad = pick(0, 3);
      const std::int64_t reach = (taps - 1) * (dilation + 1) + 1;
      add('i', in), add('k', taps), add('s', stride), add('d', dilation), add('p', pad);
      if (in + 2 * pad >= reach)
        add('o', std::max<std::int64_t>(1, (in + 2 * pad - reach) / stride + pick(0, 1)));
    }
    try {
      return parse_conv(text);
    } catch (const std::exception&) {  // not every draw is a convolution
    }
  }
}

/// The two inputs of a problem.
inline Inputs make_inputs(const ConvProblem& problem, Values::Kind kind, int magnitude,
                          std::uint64_t seed = 7) {
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    if (spec.role == Role::input)
      inputs.emplace(
          spec.name,
          Values(kind, seed, spec.name, spec.type,
                 spec.type == DataType::u8 && kind == Values::Kind::mantissa ? 127 : magnitude));
  return inputs;
}

inline std::vector<double> materialize(const Values& values, std::int64_t elements) {
  std::vector<double> out(static_cast<std::size_t>(elements));
  values.fill(0, out);
  return out;
}

/// Calls body(src offset, weights offset, dst offset) for each product of the convolution: seven
/// loops, nothing shared.
template <class Body>
void for_each_product(const ConvShape& s, Body body) {
  const std::int64_t icg = s.ic / s.g, ocg = s.oc / s.g;
  for (std::int64_t n = 0; n < s.mb; ++n)
    for (std::int64_t o = 0; o < s.oc; ++o)
      for (std::int64_t z = 0; z < s.od; ++z)
        for (std::int64_t y = 0; y < s.oh; ++y)
          for (std::int64_t x = 0; x < s.ow; ++x)
            for (std::int64_t c = 0; c < icg; ++c)
              for (std::int64_t i = 0; i < s.kd; ++i)
                for (std::int64_t j = 0; j < s.kh; ++j)
                  for (std::int64_t k = 0; k < s.kw; ++k) {
                    const std::int64_t iz = z * s.sd + i * (s.dd + 1) - s.pd,
                                       iy = y * s.sh + j * (s.dh + 1) - s.ph,
                                       ix = x * s.sw + k * (s.dw + 1) - s.pw;
                    if (iz < 0 || iz >= s.id || iy < 0 || iy >= s.ih || ix < 0 || ix >= s.iw)
                      continue;
                    body((((n * s.ic + o / ocg * icg + c) * s.id + iz) * s.ih + iy) * s.iw + ix,
                         (((o * icg + c) * s.kd + i) * s.kh + j) * s.kw + k,
                         (((n * s.oc + o) * s.od + z) * s.oh + y) * s.ow + x);
                  }
}

/// The whole output, in long double.
inline std::vector<long double> brute_force(const ConvProblem& problem, const Inputs& inputs) {
  const std::vector<TensorSpec> specs = problem.tensors();
  const std::vector<double> a =
      materialize(inputs.find(specs[0].name)->second, specs[0].elements());
  const std::vector<double> b =
      materialize(inputs.find(specs[1].name)->second, specs[1].elements());
  std::vector<long double> out(static_cast<std::size_t>(specs[2].elements()), 0.0L);
  for_each_product(problem.shape(), [&](std::int64_t src, std::int64_t weights, std::int64_t dst) {
    const auto at = [](const std::vector<double>& v, std::int64_t i) {
      return static_cast<long double>(v[static_cast<std::size_t>(i)]);
    };
    switch (problem.direction()) {
      case ConvDirection::forward:
        out[static_cast<std::size_t>(dst)] += at(a, src) * at(b, weights);
        break;
      case ConvDirection::bwd_data:
        out[static_cast<std::size_t>(src)] += at(a, dst) * at(b, weights);
        break;
      case ConvDirection::bwd_weights:
        out[static_cast<std::size_t>(weights)] += at(a, src) * at(b, dst);
        break;
    }
  });
  return out;
}

inline std::vector<std::int64_t> all_of(const TensorSpec& spec) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(spec.elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  return indices;
}

inline std::vector<Expected> expect(const ConvProblem& problem, const Inputs& inputs,
                                    const Execution& execution, bool exact,
                                    const std::vector<std::int64_t>& indices) {
  std::vector<Expected> out(indices.size());
  make_conv_oracle(problem)->expect(problem.tensors()[2], inputs, execution, exact, indices, out);
  return out;
}

/// An honest direct convolution of this precision.
inline Execution honest(Precision precision, const std::string& algorithm = "direct") {
  Execution execution;
  execution.algorithm = algorithm;
  execution.accumulate = precision == Precision::fp64   ? "fp64"
                         : precision == Precision::int8 ? "s32"
                                                        : "fp32";
  return execution;
}

/// The right checksum with `weights` of these elements.
inline double sum_weighted(std::span<const double> elements, const ChecksumWeights& weights) {
  std::vector<double> factors(elements.size());
  weights.fill(0, factors);
  double sum = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) sum += factors[i] * elements[i];
  return sum;
}

}  // namespace assay::conv_test
