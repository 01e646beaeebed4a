// Recurrent networks of the fake cuDNN: computed by the descriptors in fp64, from a weight space
// whose order is no one's expectation. A backward pass overwrites what its forward pass reserved,
// as the real one does.
#include "cudnn_rnn.hpp"
#include "tests/cuda/fake/submitted.hpp"

#include <array>

using namespace fake;

namespace {

void wrong(const char* name, cudnnDataType_t type, void* data, std::size_t elements) {
  if (data == nullptr || !is("FAKE_CUDNN_WRONG", name)) return;
  store(type, data, elements - 1, load(type, data, elements - 1) + 0.75);
}

cudnnStatus_t started(const cudnnRNNStruct& net, const cudnnRNNDataStruct& x,
                      const std::int32_t* lengths, std::size_t weight_bytes, void* work,
                      std::size_t work_bytes) {
  for (int n = 0; n < x.batch; ++n)
    if (lengths == nullptr || lengths[n] != x.steps)
      return refuse("fake: sequence lengths", CUDNN_STATUS_BAD_PARAM);
  if (weight_bytes != lay_out(net, 0, 0, nullptr) * bytes_of(net.type) || work == nullptr ||
      work_bytes == 0)
    return refuse("fake: sizes of spaces", CUDNN_STATUS_BAD_PARAM);
  if (net.algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC && net.built_for != x.batch)
    return refuse("fake: kernels are not built", CUDNN_STATUS_BAD_PARAM);
  return starting(names[net.algorithm]);
}

/// Submits `compute` as the first of FAKE_CUDNN_RNN_PIECES pieces of work: the real one launches
/// kernels for each step.
template <class Compute>
cudnnStatus_t submit_pieces(void* work, std::size_t work_bytes, const Compute& compute) {
  const char* const pieces = std::getenv("FAKE_CUDNN_RNN_PIECES");
  fake::submit([=] {
    std::memset(work, 0x55, work_bytes);
    compute();
  });
  for (int more = pieces == nullptr ? 1 : std::atoi(pieces); more > 1; --more) fake::submit([] {});
  return CUDNN_STATUS_SUCCESS;
}

/// The walk of one row backward through a pseudo-layer: adds to `below`, and leaves the gradients
/// of gates where the forward pass had reserved the gates.
void backward_row(const Call& c, int p, int n, const std::vector<double>& above,
                  const std::array<const void*, 4>& given, const std::array<void*, 2>& wanted,
                  std::vector<double>& below) {
  const auto& [dhy, dcy, hx, cx] = given;
  const auto& [dhx, dcx] = wanted;
  const int layer = p / c.D, inputs = inputs_of(c.net, layer);
  const bool skips = layer == 0 && c.net.skips;
  std::vector<double> dh(static_cast<std::size_t>(c.H)), dc(dh);
  for (int j = 0; j < c.H; ++j) {
    dh[static_cast<std::size_t>(j)] = load(c.net.type, dhy, c.state(p, n, j));
    if (dcy != nullptr) dc[static_cast<std::size_t>(j)] = load(c.net.type, dcy, c.state(p, n, j));
  }
  std::vector<std::vector<double>> records(static_cast<std::size_t>(c.T));
  for (int k = c.T; k-- > 0;) {
    const int t = c.time(p, k);
    std::vector<double> dz(static_cast<std::size_t>((c.G + 1) * c.H)), next(dh.size());
    for (int j = 0; j < c.H; ++j) {
      const auto at = static_cast<std::size_t>(j);
      double each[4] = {}, aside = 0;
      differentiate(
          c, p, k, n, j,
          dh[at] + above[static_cast<std::size_t>((t * c.N + n) * c.D * c.H + p % c.D * c.H + j)],
          dc[at], hx, cx, each, &aside, next[at]);
      dc[at] = c.rounded(dc[at]);
      for (int g = 0; g < c.G; ++g) dz[static_cast<std::size_t>(g * c.H + j)] = c.rounded(each[g]);
      dz[static_cast<std::size_t>(c.G * c.H + j)] = c.rounded(aside);
    }
    std::vector<double> through(dh.size());  // the products, which a kernel adds to the rest
    for (int g = 0; g < c.G; ++g)
      for (int j = 0; j < c.H; ++j) {
        const double of_input = dz[static_cast<std::size_t>(g * c.H + j)],
                     of_state = c.net.cell == CUDNN_GRU && g == 2
                                    ? dz[static_cast<std::size_t>(c.G * c.H + j)]
                                    : of_input;
        c.add_products(c.weights.row(p, g + c.G, j), of_state, c.H, through.data());
        double* const to = below.data() + (t * c.N + n) * inputs;
        if (skips)
          to[j] += of_input;
        else
          c.add_products(c.weights.row(p, g, j), of_input, inputs, to);
      }
    for (std::size_t i = 0; i < dh.size() && !(c.drops_step && k == c.T / 2); ++i)
      dh[i] = c.rounded(next[i] + c.rounded(through[i]));
    records[static_cast<std::size_t>(k)] = std::move(dz);
  }
  for (int k = 0; k < c.T; ++k) {  // gradients take the place of the gates
    const std::vector<double>& dz = records[static_cast<std::size_t>(k)];
    double* const record = c.reserve.at(p, k, n);
    std::copy_n(dz.begin(), c.G * c.H, record);
    std::copy_n(dz.begin() + c.G * c.H, c.H, c.reserve.aside(record));
  }
  for (int j = 0; j < c.H; ++j) {
    if (dhx != nullptr) store(c.net.type, dhx, c.state(p, n, j), dh[static_cast<std::size_t>(j)]);
    if (dcx != nullptr) store(c.net.type, dcx, c.state(p, n, j), dc[static_cast<std::size_t>(j)]);
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* descriptor) {
  *descriptor = new cudnnRNNStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* descriptor) {
  *descriptor = new cudnnRNNDataStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor, cudnnRNNAlgo_t algorithm,
                                       cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
                                       cudnnDirectionMode_t directions,
                                       cudnnRNNInputMode_t input_mode, cudnnDataType_t type,
                                       cudnnDataType_t precision, cudnnMathType_t math,
                                       std::int32_t input, std::int32_t hidden,
                                       std::int32_t projected, std::int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, std::uint32_t) {
  if (is("FAKE_CUDNN_REFUSES", names[algorithm]))
    return refuse(std::string("fake: no ") + names[algorithm] + " here",
                  CUDNN_STATUS_NOT_SUPPORTED);
  if (algorithm != CUDNN_RNN_ALGO_STANDARD && bias != CUDNN_RNN_DOUBLE_BIAS)
    return refuse("fake: a persistent algorithm with one bias", CUDNN_STATUS_NOT_SUPPORTED);
  if (precision != CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || projected != hidden ||
      dropout != nullptr || (input_mode == CUDNN_SKIP_INPUT && input != hidden))
    return CUDNN_STATUS_BAD_PARAM;
  *descriptor = {algorithm,
                 cell,
                 bias,
                 directions == CUDNN_BIDIRECTIONAL ? 2 : 1,
                 input_mode == CUDNN_SKIP_INPUT,
                 type,
                 math,
                 input,
                 hidden,
                 layers};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int steps, int batch,
                                        int width, const int* lengths, void*) {
  if (layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ||
      !std::all_of(lengths, lengths + batch, [=](int length) { return length == steps; }))
    return CUDNN_STATUS_NOT_SUPPORTED;
  *descriptor = {type, steps, batch, width};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t, cudnnRNNDescriptor_t descriptor, int batch) {
  descriptor->built_for = batch;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t net,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                        std::size_t* work, std::size_t* reserve) {
  // The fake keeps its states in the work space where nothing is reserved.
  const std::size_t states = reserve_doubles(*net, *x) * sizeof(double);
  const char* const given = std::getenv("FAKE_CUDNN_WORKSPACE");
  *work = given == nullptr ? 4096 : std::strtoull(given, nullptr, 10);
  if (mode == CUDNN_FWD_MODE_INFERENCE) *work += states;
  *reserve = mode == CUDNN_FWD_MODE_INFERENCE ? 0 : states;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t net,
                                         std::size_t* bytes) {
  *bytes = lay_out(*net, 0, 0, nullptr) * bytes_of(net->type);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t net, std::int32_t p,
                                      std::size_t, const void* space, std::int32_t id,
                                      cudnnTensorDescriptor_t matrix, void** matrix_at,
                                      cudnnTensorDescriptor_t bias, void** bias_at) {
  Place place;
  lay_out(*net, p, id, &place);
  char* const base = static_cast<char*>(const_cast<void*>(space));
  const auto tell = [&](bool there, std::size_t at, int columns, cudnnTensorDescriptor_t to,
                        void** address) {
    *to = {net->type, CUDNN_TENSOR_NCHW, {}};
    if (there) to->dims = {1, net->hidden, columns};
    *address = there ? base + at * bytes_of(net->type) : nullptr;
  };
  tell(place.columns > 0, place.matrix, place.columns, matrix, matrix_at);
  tell(place.biased, place.bias, 1, bias, bias_at);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t, cudnnRNNDescriptor_t net, cudnnForwardMode_t mode,
                              const std::int32_t lengths[], cudnnRNNDataDescriptor_t x_desc,
                              const void* x, cudnnRNNDataDescriptor_t y_desc, void* y,
                              cudnnTensorDescriptor_t, const void* hx, void* hy,
                              cudnnTensorDescriptor_t, const void* cx, void* cy,
                              std::size_t weight_bytes, const void* space, std::size_t work_bytes,
                              void* work, std::size_t reserve_bytes, void* reserve) {
  if (const auto status = started(*net, *x_desc, lengths, weight_bytes, work, work_bytes);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  const bool training = mode == CUDNN_FWD_MODE_TRAINING;
  const std::size_t states = reserve_doubles(*net, *x_desc) * sizeof(double);
  if (training && (reserve == nullptr || reserve_bytes != states)) return CUDNN_STATUS_BAD_PARAM;
  return submit_pieces(
      work, work_bytes,
      [net_of = *net, x_of = *x_desc, y_of = *y_desc, space, x, y, hx, hy, cx, cy,
       kept = training ? reserve : work] {
        const cudnnRNNStruct* const net = &net_of;
        const cudnnRNNDataStruct* const y_desc = &y_of;
        const Call c{net_of, x_of, Weights(net_of, space, nullptr), Reserve(net_of, x_of, kept)};
        for (int p = 0; p < net->layers * c.D; ++p)
          for (int k = 0; k < c.T; ++k)
            for (int n = 0; n < c.N; ++n) {
              forward_step(c, p, k, n, x, hx, cx);
              double* const record = c.reserve.at(p, k, n);
              for (int j = 0; j < c.H; ++j) {
                const double h = c.reserve.h(record)[j];
                if (p / c.D == net->layers - 1)
                  store(net->type, y,
                        static_cast<std::size_t>((c.time(p, k) * c.N + n) * y_desc->width +
                                                 p % c.D * c.H + j),
                        h);
                if (k == c.T - 1 && hy != nullptr) store(net->type, hy, c.state(p, n, j), h);
                if (k == c.T - 1 && cy != nullptr)
                  store(net->type, cy, c.state(p, n, j), c.reserve.c(record)[j]);
              }
            }
        const auto all_states = static_cast<std::size_t>(net->layers * c.D * c.N * c.H);
        wrong("y", net->type, y, static_cast<std::size_t>(c.T * c.N * y_desc->width));
        wrong("hy", net->type, hy, all_states);
        wrong("cy", net->type, cy, all_states);
      });
}

cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t, cudnnRNNDescriptor_t net, const std::int32_t lengths[],
    cudnnRNNDataDescriptor_t y_desc, const void*, const void* dy, cudnnRNNDataDescriptor_t x_desc,
    void* dx, cudnnTensorDescriptor_t, const void* hx, const void* dhy, void* dhx,
    cudnnTensorDescriptor_t, const void* cx, const void* dcy, void* dcx, std::size_t weight_bytes,
    const void* space, std::size_t work_bytes, void* work, std::size_t, void* reserve) {
  if (const auto status = started(*net, *x_desc, lengths, weight_bytes, work, work_bytes);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return submit_pieces(
      work, work_bytes,
      [net_of = *net, x_of = *x_desc, y_of = *y_desc, space, dy, dx, hx, dhy, dhx, cx, dcy, dcx,
       reserve] {
        const cudnnRNNStruct* const net = &net_of;
        const cudnnRNNDataStruct* const y_desc = &y_of;
        const Call c{net_of, x_of, Weights(net_of, space, nullptr), Reserve(net_of, x_of, reserve)};
        std::vector<double> above(static_cast<std::size_t>(c.T * c.N * y_desc->width));
        for (std::size_t i = 0; i < above.size(); ++i) above[i] = load(net->type, dy, i);
        for (int layer = net->layers; layer-- > 0;) {
          std::vector<double> below(static_cast<std::size_t>(c.T * c.N * inputs_of(*net, layer)));
          for (int p = layer * c.D; p < (layer + 1) * c.D; ++p)
            for (int n = 0; n < c.N; ++n)
              backward_row(c, p, n, above, {dhy, dcy, hx, cx}, {dhx, dcx}, below);
          above = std::move(below);
        }
        for (std::size_t i = 0; i < above.size(); ++i) store(net->type, dx, i, above[i]);
        const auto all_states = static_cast<std::size_t>(net->layers * c.D * c.N * c.H);
        wrong("dx", net->type, dx, above.size());
        wrong("dhx", net->type, dhx, all_states);
        wrong("dcx", net->type, dcx, all_states);
      });
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(
    cudnnHandle_t, cudnnRNNDescriptor_t net, cudnnWgradMode_t mode, const std::int32_t lengths[],
    cudnnRNNDataDescriptor_t x_desc, const void* x, cudnnTensorDescriptor_t, const void* hx,
    cudnnRNNDataDescriptor_t, const void*, std::size_t weight_bytes, void* gradients,
    std::size_t work_bytes, void* work, std::size_t, void* reserve) {
  if (mode != CUDNN_WGRAD_MODE_ADD) return refuse("fake: adds alone", CUDNN_STATUS_NOT_SUPPORTED);
  if (const auto status = started(*net, *x_desc, lengths, weight_bytes, work, work_bytes);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return submit_pieces(
      work, work_bytes, [net_of = *net, x_of = *x_desc, x, hx, gradients, reserve] {
        const cudnnRNNStruct* const net = &net_of;
        const Call c{net_of, x_of, Weights(net_of, nullptr, gradients),
                     Reserve(net_of, x_of, reserve)};
        for (int p = 0; p < net->layers * c.D; ++p)
          for (int id = 0; id < 2 * c.G; ++id) {
            const Place& place = c.weights.place(p, id);
            const bool recurrent = id >= c.G, aside = net->cell == CUDNN_GRU && id == 2 + c.G;
            std::vector<std::vector<double>> operands;
            for (int k = 0; k < c.T; ++k)
              for (int n = 0; n < c.N; ++n)
                operands.push_back(c.operands(p, k, n, recurrent, x, hx));
            for (int j = 0; j < c.H; ++j) {
              std::vector<double> row(static_cast<std::size_t>(place.columns));
              double bias = 0;
              for (int k = 0; k < c.T; ++k)
                for (int n = 0; n < c.N; ++n) {
                  double* const record = c.reserve.at(p, k, n);
                  const double dz = aside ? c.reserve.aside(record)[j]
                                          : record[(recurrent ? id - c.G : id) * c.H + j];
                  bias += dz;
                  c.add_products(operands[static_cast<std::size_t>(k * c.N + n)].data(), dz,
                                 place.columns, row.data());
                }
              for (int i = 0; i < place.columns; ++i)
                c.weights.add(place.matrix + static_cast<std::size_t>(j * place.columns + i),
                              row[static_cast<std::size_t>(i)]);
              if (place.biased) c.weights.add(place.bias + static_cast<std::size_t>(j), bias);
            }
          }
        Place last;
        lay_out(*net, net->layers * c.D - 1, c.G, &last);
        wrong("dw", net->type, gradients, last.matrix + static_cast<std::size_t>(c.H * c.H));
        std::memset(reserve, 0, reserve_doubles(net_of, x_of) * sizeof(double));  // spent
      });
}

}  // extern "C"
