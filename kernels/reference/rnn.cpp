// Recurrent networks by plain loops in fp64, step by step, rounded once to the types of the
// tensors.

#include "kernels/rnn/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/reference/rnn_parts.hpp"

namespace assay::reference {
namespace {

double logistic(double z) { return 1 / (1 + std::exp(-z)); }

class ReferenceRnn final : public PlainOperation {
 public:
  ReferenceRnn(const RnnProblem& problem, int threads)
      : PlainOperation(problem, threads, "tnc ldnc ldigo ldgo"), plan_(problem) {
    const bool forward = problem.direction() == RnnDirection::forward_inference;
    const auto add = [&](const char* name, Role role, std::int64_t values) {
      const std::size_t bytes = static_cast<std::size_t>(values) * sizeof(double);
      arguments_.push_back(bytes_tensor(name, role, bytes));
      if (role == Role::workspace) execution_.workspace_bytes += bytes;
    };
    add("states", forward ? Role::workspace : Role::saved, plan_.states);
    add("weights", Role::workspace, plan_.scratch);
    execution_.algorithm = "standard";
    execution_.implementation = "loop over steps";
    if (size_of(storage(problem.precision())) == 2) execution_.operand_roundings = 0;
  }

  void prologue(Stream&) override {
    const RnnDirection direction = plan_.problem.direction();
    if (is_forward(direction)) return;
    read_weights();
    forward();
    if (direction == RnnDirection::bwd_weights) backward_data();
  }

  void run(Stream&) override {
    read_weights();
    switch (plan_.problem.direction()) {
      case RnnDirection::forward_inference:
      case RnnDirection::forward_training:
        forward();
        write_states("dst_layer", plan_.between.back(), "dst_iter", &Walk::h, &Walk::c,
                     plan_.shape.steps);
        break;
      case RnnDirection::bwd_data:
        backward_data();
        break;
      case RnnDirection::bwd_weights:
        backward_weights();
        break;
      case RnnDirection::bwd:
        backward_data();
        backward_weights();
        break;
    }
  }

 private:
  std::span<double> all(std::string_view name, double* at) const {
    return {at, place(arguments_.at(index(name)).elements())};
  }
  void read(std::string_view name, double* to) const {
    PlainOperation::read(index(name), 0, all(name, to));
  }
  void write(std::string_view name, double* from) const {
    PlainOperation::write(name, 0, all(name, from));
  }
  void read_weights() {
    if (plan_.problem.weighted_layers() > 0) read("weights_layer", scratch_ + plan_.weights_layer);
    read("weights_iter", scratch_ + plan_.weights_iter);
    read("bias", scratch_ + plan_.bias);
  }
  double* state(std::int64_t at) const { return states_ + at; }

  /// The states of step `k` of all layers, as one tensor.
  void write_states(const char* layer, std::int64_t sequence, const std::string& iter,
                    std::int64_t Walk::*h, std::int64_t Walk::*c, std::int64_t k) {
    write(layer, state(sequence));
    double* const gathered = scratch_ + plan_.gathered;
    const auto write_one = [&](const std::string& name, std::int64_t Walk::*which) {
      double* to = gathered;
      for (const Walk& walk : plan_.walks)
        to = std::copy_n(state(walk.*which) + k * plan_.step, plan_.step, to);
      write(name, gathered);
    };
    write_one(iter, h);
    if (plan_.problem.has_cell_state()) write_one(iter + "_c", c);
  }
  /// Reads the state `name` of each layer and direction to its place in the walks.
  void read_state(const std::string& name, std::int64_t Walk::*to) {
    double* const gathered = scratch_ + plan_.gathered;
    read(name, gathered);
    for (std::size_t i = 0; i < plan_.walks.size(); ++i)
      std::copy_n(gathered + static_cast<std::int64_t>(i) * plan_.step, plan_.step,
                  state(plan_.walks[i].*to));
  }

  void forward() {
    read("src_layer", state(plan_.between[0]));
    read_state("src_iter", &Walk::h);
    if (plan_.problem.has_cell_state()) read_state("src_iter_c", &Walk::c);
    for (const Walk& walk : plan_.walks)
      for (std::int64_t k = 0; k < plan_.shape.steps; ++k) forward_step(walk, k);
  }

  void forward_step(const Walk& w, std::int64_t k) {
    const std::int64_t H = plan_.shape.hidden, N = plan_.shape.batch, G = plan_.shape.gates(),
                       D = plan_.shape.directions, t = w.time(k, plan_.shape.steps);
    const double *const x = state(plan_.between[w.l]) + t * N * w.inputs,
                        *const u = scratch_ + w.iter, *const b = scratch_ + w.bias;
    double *const h = state(w.h) + k * plan_.step, *const gates = state(w.gates) + k * N * G * H,
                  *const aside = state(w.aside) + k * plan_.step, *const next = h + plan_.step,
                  *const out = state(plan_.between[w.l + 1]) + t * N * D * H + w.d * H;
    for (std::int64_t n = 0; n < N; ++n)
      for (std::int64_t c = 0; c < G * H; ++c)
        gates[n * G * H + c] = b[c] + (w.layer < 0 ? x[n * H + c % H] : 0);
    if (w.layer >= 0)
      multiply(threads_, N, w.inputs, G * H, x, w.inputs, scratch_ + w.layer, G * H, gates, G * H);
    multiply(threads_, N, H, (G == 3 ? 2 : G) * H, h, H, u, G * H, gates, G * H);
    if (plan_.shape.cell == RnnCell::gru_lbr) {
      for (std::int64_t i = 0; i < N * H; ++i) aside[i] = b[3 * H + i % H];
      multiply(threads_, N, H, H, h, H, u + 2 * H, G * H, aside, H);
    } else if (plan_.shape.cell == RnnCell::gru) {
      for (std::int64_t n = 0; n < N; ++n)
        for (std::int64_t j = 0; j < H; ++j)
          aside[n * H + j] = h[n * H + j] * logistic(gates[(n * 3 + 1) * H + j]);
      multiply(threads_, N, H, H, aside, H, u + 2 * H, G * H, gates + 2 * H, G * H);
    }
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t n = 0; n < N; ++n)
      for (std::int64_t j = 0; j < H; ++j) {
        const std::int64_t i = n * H + j;
        double* const g = gates + n * G * H + j;
        next[i] = activate(g, H, h[i], state(w.c) + k * plan_.step + i, aside[i]);
        out[n * D * H + j] = next[i];
      }
  }

  /// The functions of one unit. The sums at g become gates. Returns the new state. `c`: the cell
  /// state before the step; the state after it lies one step further.
  double activate(double* g, std::int64_t H, double h, double* c, double aside) const {
    switch (plan_.shape.cell) {
      case RnnCell::vanilla_relu:
        return g[0] = std::max(g[0], 0.0);
      case RnnCell::vanilla_tanh:
        return g[0] = std::tanh(g[0]);
      case RnnCell::lstm:
        for (const int gate : {0, 1, 3}) g[gate * H] = logistic(g[gate * H]);
        g[2 * H] = std::tanh(g[2 * H]);
        c[plan_.step] = g[H] * c[0] + g[0] * g[2 * H];
        return g[3 * H] * std::tanh(c[plan_.step]);
      case RnnCell::gru:
      case RnnCell::gru_lbr:
        g[0] = logistic(g[0]);
        g[H] = logistic(g[H]);
        g[2 * H] = std::tanh(g[2 * H] + (plan_.shape.cell == RnnCell::gru_lbr ? g[H] * aside : 0));
        return g[0] * h + (1 - g[0]) * g[2 * H];
    }
    return 0;
  }

  void backward_data() {
    const RnnShape& s = plan_.shape;
    const std::int64_t width = s.directions * s.hidden;
    read("diff_dst_layer", scratch_ + plan_.above);
    read_state("diff_dst_iter", &Walk::diff_h);
    if (plan_.problem.has_cell_state()) read_state("diff_dst_iter_c", &Walk::diff_c);
    for (std::int64_t l = s.layers - 1; l >= 0; --l) {
      double* const below = scratch_ + plan_.below;
      std::fill_n(below, s.steps * s.batch * plan_.problem.count_inputs(l), 0.0);
      for (std::int64_t d = 0; d < s.directions; ++d)
        for (std::int64_t k = s.steps - 1; k >= 0; --k)
          backward_step(plan_.walks[static_cast<std::size_t>(l * s.directions + d)], k, below);
      if (l > 0) std::copy_n(below, s.steps * s.batch * width, scratch_ + plan_.above);
    }
    if (plan_.problem.direction() == RnnDirection::bwd_weights) return;
    std::copy_n(scratch_ + plan_.below, s.steps * s.batch * plan_.problem.count_inputs(0),
                state(plan_.diff_input));
    write_states("diff_src_layer", plan_.diff_input, "diff_src_iter", &Walk::diff_h, &Walk::diff_c,
                 0);
  }

  void backward_step(const Walk& w, std::int64_t k, double* below) {
    const std::int64_t H = plan_.shape.hidden, N = plan_.shape.batch, G = plan_.shape.gates(),
                       D = plan_.shape.directions, t = w.time(k, plan_.shape.steps), GH = G * H;
    const RnnCell cell = plan_.shape.cell;
    const double *const h = state(w.h) + k * plan_.step, *const u = scratch_ + w.iter;
    double *const dh = state(w.diff_h), *const dz = state(w.diff) + k * N * GH,
                  *const aside = state(w.aside) + k * plan_.step,
                  *const dza = state(w.diff_aside) + k * plan_.step,
                  *const arrives = scratch_ + plan_.arrives;
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t n = 0; n < N; ++n)
      for (std::int64_t j = 0; j < H; ++j) {
        const std::int64_t i = n * H + j, z = n * GH + j;
        const double total = dh[i] + scratch_[plan_.above + (t * N + n) * D * H + w.d * H + j];
        arrives[i] = 0;
        differentiate(total, state(w.gates) + k * N * GH + z, h[i], state(w.c) + k * plan_.step + i,
                      aside[i], dz + z, state(w.diff_c) + i, dza + i, arrives + i);
      }
    if (cell == RnnCell::gru) {
      double* const product = scratch_ + plan_.product;
      std::fill_n(product, N * H, 0.0);
      multiply_transposed(threads_, N, H, H, dz + 2 * H, GH, u + 2 * H, GH, product, H);
      const double* const gates = state(w.gates) + k * N * GH;
      for (std::int64_t i = 0; i < N * H; ++i) {
        const std::int64_t z = i / H * GH + H + i % H;
        const double reset = gates[z];
        dz[z] = product[i] * h[i] * reset * (1 - reset);
        arrives[i] += product[i] * reset;
      }
    }
    multiply_transposed(threads_, N, (G == 3 ? 2 : G) * H, H, dz, GH, u, GH, arrives, H);
    if (cell == RnnCell::gru_lbr)
      multiply_transposed(threads_, N, H, H, dza, H, u + 2 * H, GH, arrives, H);
    std::copy_n(arrives, N * H, dh);
    double* const dx = below + t * N * w.inputs;
    if (w.layer >= 0)
      multiply_transposed(threads_, N, GH, w.inputs, dz, GH, scratch_ + w.layer, GH, dx, w.inputs);
    else
      for (std::int64_t i = 0; i < N * GH; ++i) dx[i / GH * H + i % H] += dz[i];
  }

  void differentiate(double dh, const double* g, double h, const double* c, double aside,
                     double* dz, double* dc, double* dza, double* arrives) const {
    const std::int64_t H = plan_.shape.hidden;
    switch (plan_.shape.cell) {
      case RnnCell::vanilla_relu:
        dz[0] = g[0] > 0 ? dh : 0;
        return;
      case RnnCell::vanilla_tanh:
        dz[0] = dh * (1 - g[0] * g[0]);
        return;
      case RnnCell::lstm: {
        const double in = g[0], forget = g[H], fresh = g[2 * H], out = g[3 * H],
                     bent = std::tanh(c[plan_.step]);
        const double total = *dc + dh * out * (1 - bent * bent);
        dz[0] = total * fresh * in * (1 - in);
        dz[H] = total * c[0] * forget * (1 - forget);
        dz[2 * H] = total * in * (1 - fresh * fresh);
        dz[3 * H] = dh * bent * out * (1 - out);
        *dc = total * forget;
        return;
      }
      case RnnCell::gru:
      case RnnCell::gru_lbr: {
        const double update = g[0], reset = g[H], fresh = g[2 * H];
        dz[0] = dh * (h - fresh) * update * (1 - update);
        dz[2 * H] = dh * (1 - update) * (1 - fresh * fresh);
        *arrives = dh * update;
        if (plan_.shape.cell == RnnCell::gru) return;
        dz[H] = dz[2 * H] * aside * reset * (1 - reset);
        *dza = dz[2 * H] * reset;
        return;
      }
    }
  }

  void backward_weights() {
    const RnnShape& s = plan_.shape;
    const std::int64_t H = s.hidden, N = s.batch, GH = s.gates() * H;
    double* const diff = scratch_ + plan_.diff_weights;
    std::fill_n(diff, plan_.scratch - plan_.diff_weights, 0.0);
    for (const Walk& w : plan_.walks)
      for (std::int64_t k = 0; k < s.steps; ++k) {
        const double *const dz = state(w.diff) + k * N * GH, *const h = state(w.h) + k * plan_.step,
                            *const x =
                                state(plan_.between[w.l]) + w.time(k, s.steps) * N * w.inputs,
                            *const aside = state(w.aside) + k * plan_.step,
                            *const dza = state(w.diff_aside) + k * plan_.step;
        double *const du = diff + w.iter, *const db = diff + w.bias;
        if (w.layer >= 0)
          add_outer(threads_, N, w.inputs, GH, x, w.inputs, dz, GH, diff + w.layer, GH);
        add_outer(threads_, N, H, (GH == 3 * H ? 2 * H : GH), h, H, dz, GH, du, GH);
        if (s.cell == RnnCell::gru)
          add_outer(threads_, N, H, H, aside, H, dz + 2 * H, GH, du + 2 * H, GH);
        if (s.cell == RnnCell::gru_lbr) add_outer(threads_, N, H, H, h, H, dza, H, du + 2 * H, GH);
        for (std::int64_t i = 0; i < N * GH; ++i) db[i % GH] += dz[i];
        if (s.cell == RnnCell::gru_lbr)
          for (std::int64_t i = 0; i < N * H; ++i) db[GH + i % H] += dza[i];
      }
    if (plan_.problem.weighted_layers() > 0)
      write("diff_weights_layer", diff + plan_.weights_layer);
    write("diff_weights_iter", diff + plan_.weights_iter);
    write("diff_bias", diff + plan_.bias);
  }

  Plan plan_;
  Argument<double> states_{this, "states"}, scratch_{this, "weights"};
};

Result<std::unique_ptr<Operation>> make_rnn(Device&, const Problem& problem, const Options& options,
                                            Communicator&) {
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm != "auto" && algorithm != "standard")
    return Unsupported{fmt::format(
        "reference has no {} recurrent network (it computes step by step). Use standard.",
        algorithm)};
  const RnnProblem& rnn = problem_cast<RnnProblem>(problem);
  if (rnn.precision() == Precision::tf32)
    return Unsupported{"reference has no tf32 (it computes in fp64). Use fp32."};
  return std::make_unique<ReferenceRnn>(rnn, std::max(1, options.threads));
}

const Maker add_rnn{makers(), problem_kind<RnnProblem>(), &make_rnn, {"standard"}};

}  // namespace
}  // namespace assay::reference
