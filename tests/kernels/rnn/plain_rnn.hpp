#pragma once
// A recurrent network written down a second time, as simply as can be: forward alone. Its gradients
// are differences. And inputs for it.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "kernels/rnn/problem.hpp"

namespace assay::rnn_test {

using Arrays = std::map<std::string, std::vector<double>>;

/// Random inputs, scaled as the oracle wants them.
inline Inputs make_inputs(const RnnProblem& problem, const Oracle& oracle, std::uint64_t seed) {
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    if (spec.role == Role::input)
      inputs.emplace(spec.name, Values(Values::Kind::mantissa, seed, spec.name, spec.type, 0)
                                    .scaled(oracle.scale_exponent(spec)));
  return inputs;
}

inline double& at(Arrays& arrays, const std::string& name, std::int64_t index) {
  return arrays[name].at(static_cast<std::size_t>(index));
}

/// dst_layer, dst_iter and dst_iter_c of the inputs by name.
inline Arrays forward(const RnnProblem& problem, Arrays in) {
  const RnnShape& s = problem.shape();
  const std::int64_t T = s.steps, N = s.batch, H = s.hidden, D = s.directions, G = s.gates(),
                     B = s.biases();
  Arrays out;
  std::vector<double> x = in["src_layer"];
  out["dst_iter"].resize(static_cast<std::size_t>(s.layers * D * N * H));
  if (s.cell == RnnCell::lstm) out["dst_iter_c"] = out["dst_iter"];
  const auto logistic = [](double z) { return 1 / (1 + std::exp(-z)); };
  for (std::int64_t l = 0; l < s.layers; ++l) {
    const std::int64_t I = problem.count_inputs(l);
    std::vector<double> y(static_cast<std::size_t>(T * N * D * H));
    for (std::int64_t d = 0; d < D; ++d)
      for (std::int64_t n = 0; n < N; ++n) {
        const std::int64_t state = ((l * D + d) * N + n) * H, layer = problem.find_place(l) * D + d;
        std::vector<double> h, c;
        for (std::int64_t j = 0; j < H; ++j) {
          h.push_back(at(in, "src_iter", state + j));
          c.push_back(s.cell == RnnCell::lstm ? at(in, "src_iter_c", state + j) : 0);
        }
        for (std::int64_t k = 0; k < T; ++k) {
          const std::int64_t t = d == 0 ? k : T - 1 - k;
          const auto bias = [&](std::int64_t g, std::int64_t j) {
            return at(in, "bias", ((l * D + d) * B + g) * H + j);
          };
          const auto input = [&](std::int64_t g, std::int64_t j) {
            if (problem.find_place(l) < 0) return x[static_cast<std::size_t>((t * N + n) * I + j)];
            double sum = 0;
            for (std::int64_t i = 0; i < I; ++i)
              sum += x[static_cast<std::size_t>((t * N + n) * I + i)] *
                     at(in, "weights_layer", ((layer * I + i) * G + g) * H + j);
            return sum;
          };
          const auto recurrent = [&](const std::vector<double>& of, std::int64_t g,
                                     std::int64_t j) {
            double sum = 0;
            for (std::int64_t i = 0; i < H; ++i)
              sum += of[static_cast<std::size_t>(i)] *
                     at(in, "weights_iter", (((l * D + d) * H + i) * G + g) * H + j);
            return sum;
          };
          const auto gate = [&](std::int64_t g, std::int64_t j) {
            return input(g, j) + recurrent(h, g, j) + bias(g, j);
          };
          std::vector<double> next = h, reset = h;
          if (s.cell == RnnCell::gru)
            for (std::int64_t j = 0; j < H; ++j)
              reset[static_cast<std::size_t>(j)] *= logistic(gate(1, j));
          for (std::int64_t j = 0; j < H; ++j) {
            const auto unit = static_cast<std::size_t>(j);
            switch (s.cell) {
              case RnnCell::vanilla_relu:
                next[unit] = std::max(0.0, gate(0, j));
                break;
              case RnnCell::vanilla_tanh:
                next[unit] = std::tanh(gate(0, j));
                break;
              case RnnCell::lstm:
                c[unit] =
                    logistic(gate(1, j)) * c[unit] + logistic(gate(0, j)) * std::tanh(gate(2, j));
                next[unit] = logistic(gate(3, j)) * std::tanh(c[unit]);
                break;
              case RnnCell::gru:
              case RnnCell::gru_lbr: {
                const double update = logistic(gate(0, j));
                const double inner = s.cell == RnnCell::gru
                                         ? recurrent(reset, 2, j)
                                         : logistic(gate(1, j)) * (recurrent(h, 2, j) + bias(3, j));
                next[unit] =
                    update * h[unit] + (1 - update) * std::tanh(input(2, j) + bias(2, j) + inner);
                break;
              }
            }
          }
          h = next;
          for (std::int64_t j = 0; j < H; ++j)
            y[static_cast<std::size_t>(((t * N + n) * D + d) * H + j)] =
                h[static_cast<std::size_t>(j)];
        }
        for (std::int64_t j = 0; j < H; ++j) {
          at(out, "dst_iter", state + j) = h[static_cast<std::size_t>(j)];
          if (s.cell == RnnCell::lstm)
            at(out, "dst_iter_c", state + j) = c[static_cast<std::size_t>(j)];
        }
      }
    x = y;
  }
  out["dst_layer"] = x;
  return out;
}

/// The function whose gradients are taken: the sum of all outputs times the diff_dst of their
/// names.
inline double loss(const RnnProblem& problem, const Arrays& in) {
  double sum = 0;
  for (const auto& [name, values] : forward(problem, in))
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * in.at("diff_" + name)[i];
  return sum;
}

}  // namespace assay::rnn_test
