#pragma once
// A recurrent network of the fake cuDNN: where its weight space has which matrix, what a forward
// pass reserves, and the functions of one unit.
#include <algorithm>
#include <cmath>

#include "cudnn_fake.hpp"

struct cudnnRNNStruct {
  cudnnRNNAlgo_t algorithm;
  cudnnRNNMode_t cell;
  cudnnRNNBiasMode_t bias;
  int directions;
  bool skips;
  cudnnDataType_t type;
  cudnnMathType_t math;
  int input, hidden, layers;
  int built_for = 0;  ///< batch, of persist_dynamic
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type;
  int steps, batch, width;
};

namespace fake {

inline const char* const names[] = {"standard", "persist_static", "persist_dynamic"};

inline int gates_of(const cudnnRNNStruct& net) {
  return net.cell == CUDNN_LSTM ? 4 : net.cell == CUDNN_GRU ? 3 : 1;
}
inline int inputs_of(const cudnnRNNStruct& net, int layer) {
  return layer == 0 ? net.input : net.directions * net.hidden;
}

/// The places of the matrix and the bias of an id, as elements; columns 0: there is none.
struct Place {
  std::size_t matrix = 0, bias = 0;
  int columns = 0;
  bool biased = false;
};
inline std::size_t lay_out(const cudnnRNNStruct& net, int pseudo_layer, int id, Place* found) {
  const int gates = gates_of(net);
  std::size_t end = 32;  // nothing begins at the beginning
  for (int p = 0; p < net.layers * net.directions; ++p)
    for (int i = 2 * gates; i-- > 0;) {  // the last first, recurrent before input
      const int layer = p / net.directions;
      Place place;
      place.columns = i >= gates ? net.hidden : layer == 0 && net.skips ? 0 : inputs_of(net, layer);
      place.biased =
          net.bias == CUDNN_RNN_DOUBLE_BIAS || (net.bias == CUDNN_RNN_SINGLE_INP_BIAS && i < gates);
      place.bias = end;
      end += static_cast<std::size_t>(place.biased ? net.hidden : 0) + 8;
      place.matrix = end;
      end += static_cast<std::size_t>(place.columns * net.hidden) + 16;
      if (found != nullptr && p == pseudo_layer && i == id) *found = place;
    }
  return end;
}

/// Reads weights (once: tests have networks of a thousand units), and adds to their gradients.
class Weights {
 public:
  Weights(const cudnnRNNStruct& net, const void* space, void* gradients)
      : net_(net), gradients_(gradients) {
    if (space != nullptr) values_.resize(lay_out(net, 0, 0, nullptr));
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = load(net.type, space, i);
    for (int p = 0; p < net.layers * net.directions; ++p)
      for (int id = 0; id < 2 * gates_of(net); ++id) {
        Place place;
        lay_out(net, p, id, &place);
        places_.push_back(place);
      }
  }
  const Place& place(int p, int id) const {
    return places_[static_cast<std::size_t>(p * 2 * gates_of(net_) + id)];
  }
  const double* row(int p, int id, int of) const {
    const Place& at = place(p, id);
    return values_.data() + at.matrix + static_cast<std::size_t>(of * at.columns);
  }
  double bias(int p, int id, int row) const {
    const Place& at = place(p, id);
    return at.biased ? values_[at.bias + static_cast<std::size_t>(row)] : 0;
  }
  void add(std::size_t at, double value) const {
    store(net_.type, gradients_, at, load(net_.type, gradients_, at) + value);
  }

 private:
  const cudnnRNNStruct& net_;
  std::vector<double> values_;
  void* gradients_;
  std::vector<Place> places_;
};

/// The reserve of a forward pass for one pseudo-layer, step (as it is walked) and row: gates, cell
/// state, U_o h of a GRU, state.
struct Reserve {
  Reserve(const cudnnRNNStruct& net, const cudnnRNNDataStruct& x, void* memory)
      : gates(gates_of(net)),
        H(net.hidden),
        batch(x.batch),
        steps(x.steps),
        data(static_cast<double*>(memory)) {}
  double* at(int p, int k, int n) const {
    return data +
           (static_cast<std::size_t>(p) * static_cast<std::size_t>(steps) +
            static_cast<std::size_t>(k)) *
               static_cast<std::size_t>(batch * width()) +
           static_cast<std::size_t>(n * width());
  }
  int width() const { return (gates + 3) * H; }
  double* c(double* record) const { return record + gates * H; }
  double* aside(double* record) const { return record + (gates + 1) * H; }
  double* h(double* record) const { return record + (gates + 2) * H; }
  int gates, H, batch, steps;
  double* data;
};
inline std::size_t reserve_doubles(const cudnnRNNStruct& net, const cudnnRNNDataStruct& x) {
  return static_cast<std::size_t>(net.layers * net.directions * x.steps * x.batch) *
         static_cast<std::size_t>((gates_of(net) + 3) * net.hidden);
}

constexpr double coarse_steps = 210'000;
inline double logistic(double z) { return 1 / (1 + std::exp(-z)); }

/// One call: its tensors, and the arithmetic of products.
struct Call {
  const cudnnRNNStruct& net;
  const cudnnRNNDataStruct& x_desc;
  Weights weights;
  Reserve reserve;
  int H = net.hidden, N = x_desc.batch, T = x_desc.steps, D = net.directions, G = gates_of(net);
  bool cuts = net.type == CUDNN_DATA_FLOAT && net.math != CUDNN_FMA_MATH && !promotes_tf32();

  /// The type of the values between two kernels: sums of gates before their functions, states, what
  /// is saved, gradients.
  cudnnDataType_t between = is("FAKE_CUDNN_RNN", "bf16") ? CUDNN_DATA_BFLOAT16 : net.type;
  bool wrong_gate = is("FAKE_CUDNN_RNN", "gate"), drops_step = is("FAKE_CUDNN_RNN", "step");
  /// A persistent algorithm multiplies the states itself, and stores no sum over them.
  bool stores_sums = net.algorithm == CUDNN_RNN_ALGO_STANDARD;
  /// Functions that are less accurate than fp32.
  bool coarse = is("FAKE_CUDNN_RNN", "coarse");

  double product(double a, double b) const { return cuts ? tf32(a) * tf32(b) : a * b; }
  double sum_of_products(const double* a, const double* b, int count) const {
    double sums[4] = {};  // which the processor adds to at the same time
    int i = 0;
    for (; i + 4 <= count && !cuts; i += 4)
      for (int j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
    for (; i < count; ++i) sums[0] += product(a[i], b[i]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  void add_products(const double* a, double b, int count, double* to) const {
    if (cuts)
      for (int i = 0; i < count; ++i) to[i] += product(a[i], b);
    else
      for (int i = 0; i < count; ++i) to[i] += a[i] * b;
  }
  int time(int p, int k) const { return p % D == 0 ? k : T - 1 - k; }
  std::size_t state(int p, int n, int j) const {
    return static_cast<std::size_t>((p * N + n) * H + j);
  }
  double rounded(double value) const {
    double memory;
    store(between, &memory, 0, value);
    return load(between, &memory, 0);
  }
  /// The input of a layer at a time: the input, or both directions of the layer below.
  double input(int layer, int t, int n, int i, const void* x) const {
    if (layer == 0) return load(net.type, x, static_cast<std::size_t>((t * N + n) * net.input + i));
    const int p = (layer - 1) * D + i / H, k = i / H == 0 ? t : T - 1 - t;
    return reserve.h(reserve.at(p, k, n))[i % H];
  }
  /// All that a layer reads at a time, or the states before it.
  std::vector<double> operands(int p, int k, int n, bool recurrent, const void* x,
                               const void* hx) const {
    const int layer = p / D;
    std::vector<double> all(static_cast<std::size_t>(recurrent ? H : inputs_of(net, layer)));
    for (int i = 0; i < static_cast<int>(all.size()); ++i)
      all[static_cast<std::size_t>(i)] =
          recurrent ? before(p, k, n, i, hx, false) : input(layer, time(p, k), n, i, x);
    return all;
  }
  double before(int p, int k, int n, int j, const void* hx, bool cell) const {
    if (k == 0) return hx == nullptr ? 0 : load(net.type, hx, state(p, n, j));
    double* const record = reserve.at(p, k - 1, n);
    return (cell ? reserve.c(record) : reserve.h(record))[j];
  }
};

inline void forward_step(const Call& c, int p, int k, int n, const void* x, const void* hx,
                         const void* cx) {
  const bool skips = p / c.D == 0 && c.net.skips;
  double* const record = c.reserve.at(p, k, n);
  const std::vector<double> read = c.operands(p, k, n, false, x, hx),
                            states = c.operands(p, k, n, true, x, hx);
  for (int j = 0; j < c.H; ++j) {
    double z[4] = {};
    for (int g = 0; g < c.G; ++g) {
      double in = skips ? read[static_cast<std::size_t>(j)]
                        : c.sum_of_products(c.weights.row(p, g, j), read.data(),
                                            static_cast<int>(read.size()));
      double recurrent =
          c.sum_of_products(c.weights.row(p, g + c.G, g == 0 && c.wrong_gate ? (j + 1) % c.H : j),
                            states.data(), c.H);
      in = c.rounded(in) + c.weights.bias(p, g, j);
      if (c.stores_sums) recurrent = c.rounded(recurrent);
      recurrent += c.weights.bias(p, g + c.G, j);
      if (c.net.cell == CUDNN_GRU && g == 2) {
        c.reserve.aside(record)[j] = c.rounded(recurrent);
        recurrent *= z[0];
      }
      z[g] = in + recurrent;
      if (c.net.cell == CUDNN_RNN_RELU)
        z[g] = std::max(z[g], 0.0);
      else if (c.net.cell == CUDNN_RNN_TANH || g == 2)
        z[g] = std::tanh(z[g]);
      else
        z[g] = logistic(z[g]);
      if (c.coarse) z[g] = std::nearbyint(z[g] * coarse_steps) / coarse_steps;
      record[g * c.H + j] = c.rounded(z[g]);
    }
    double h = z[0];
    if (c.net.cell == CUDNN_LSTM) {
      const double cell = z[1] * c.before(p, k, n, j, cx, true) + z[0] * z[2];
      c.reserve.c(record)[j] = c.rounded(cell);
      h = z[3] * std::tanh(cell);
    } else if (c.net.cell == CUDNN_GRU) {
      h = (1 - z[1]) * z[2] + z[1] * c.before(p, k, n, j, hx, false);
    }
    if (c.drops_step && k == c.T / 2) h = states[static_cast<std::size_t>(j)];
    c.reserve.h(record)[j] = c.rounded(h);
  }
}

/// Gradients of the sums of one row and step, into `dz`, and of U_o h into `aside`.
inline void differentiate(const Call& c, int p, int k, int n, int j, double dh, double& dc,
                          const void* hx, const void* cx, double* dz, double* aside,
                          double& direct) {
  double* const record = c.reserve.at(p, k, n);
  const auto gate = [&](int g) { return record[g * c.H + j]; };
  const double h = c.before(p, k, n, j, hx, false);
  switch (c.net.cell) {
    case CUDNN_RNN_RELU:
      dz[0] = gate(0) > 0 ? dh : 0;
      return;
    case CUDNN_RNN_TANH:
      dz[0] = dh * (1 - gate(0) * gate(0));
      return;
    case CUDNN_LSTM: {
      const double bent = std::tanh(c.reserve.c(record)[j]),
                   total = dc + dh * gate(3) * (1 - bent * bent);
      dz[0] = total * gate(2) * gate(0) * (1 - gate(0));
      dz[1] = total * c.before(p, k, n, j, cx, true) * gate(1) * (1 - gate(1));
      dz[2] = total * gate(0) * (1 - gate(2) * gate(2));
      dz[3] = dh * bent * gate(3) * (1 - gate(3));
      dc = total * gate(1);
      return;
    }
    case CUDNN_GRU: {
      dz[2] = dh * (1 - gate(1)) * (1 - gate(2) * gate(2));
      dz[1] = dh * (h - gate(2)) * gate(1) * (1 - gate(1));
      dz[0] = dz[2] * c.reserve.aside(record)[j] * gate(0) * (1 - gate(0));
      *aside = dz[2] * gate(0);
      direct = dh * gate(1);
      return;
    }
  }
}

}  // namespace fake
