#include "kernels/cuda/rnn_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/api/layout.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// One memory for a set of tensors. The tensors are allocated one after the other, set by set.
class SharedMemory {
 public:
  SharedMemory(CudaDevice& device, std::size_t bytes, std::size_t tensors)
      : device_(device), bytes_(bytes), tensors_(tensors) {}

  /// Takes the set that still lacks tensor `which`, else a new set.
  std::shared_ptr<void> take(std::size_t which) {
    std::shared_ptr<void> memory = open_.lock();
    if (memory == nullptr || taken_[which]) {
      memory = gpu_memory(bytes_, "weight space");
      check(cudaMemsetAsync(memory.get(), 0, bytes_, device_.stream().get()),
            "zeroing the weight space");
      open_ = memory;
      taken_.assign(tensors_, false);
    }
    taken_[which] = true;
    return memory;
  }

 private:
  CudaDevice& device_;
  std::size_t bytes_, tensors_;
  std::weak_ptr<void> open_;
  std::vector<bool> taken_;
};

/// The index in `memory` of the element at `address`; checks that the dimensions of cuDNN's tensor
/// are `dims`.
std::int64_t find_place(const void* memory, const void* address, const TensorDescriptor& descriptor,
                        const std::array<int, 3>& dims, DataType type, const std::string& what) {
  std::array<int, 3> dims_of_cudnn{}, strides{};
  int count = 0;
  cudnnDataType_t stored{};
  if (address != nullptr)
    check(cudnnGetTensorNdDescriptor(descriptor.get(), 3, &stored, &count, dims_of_cudnn.data(),
                                     strides.data()),
          "asking cuDNN for the shape of " + what);
  if (address == nullptr || count != 3 || dims_of_cudnn != dims || stored != cudnn_type(type))
    throw CaseError(fmt::format(
        "{} has {} as {} of type {}, not [{}]. This version of cuDNN lays weights out in a way "
        "that is not known here.",
        cudnn_library(), what,
        address == nullptr ? "nothing" : fmt::format("[{}]", fmt::join(dims_of_cudnn, ",")),
        static_cast<int>(stored), fmt::join(dims, ",")));
  const std::ptrdiff_t offset =
      static_cast<const char*>(address) - static_cast<const char*>(memory);
  return offset / static_cast<std::ptrdiff_t>(size_of(type));
}

/// Row-major strides of `dims` in the order `order`.
Layout in_order(const TensorSpec& spec, const std::vector<std::size_t>& order,
                std::vector<std::int64_t> pieces) {
  Layout layout{std::vector<Split>(spec.dims.size()), spec.elements(), std::move(pieces)};
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    layout.splits[order[i]] = {1, stride, 0};
    stride *= spec.dims[order[i]];
  }
  return layout;
}

}  // namespace

WeightPlaces weight_places(const CudnnDevice& device, const RnnProblem& problem,
                           const RnnForm& form, const RnnDescriptors& descriptors) {
  const RnnShape& s = problem.shape();
  const DataType type = form.specs[0].type;
  const auto H = static_cast<int>(s.hidden);
  WeightPlaces places;
  check(cudnnGetRNNWeightSpaceSize(device.cudnn(), descriptors.network.get(), &places.bytes),
        "asking cuDNN for the size of its weight space");
  const std::shared_ptr<void> memory = gpu_memory(places.bytes, "weight space");
  const TensorDescriptor of_matrix, of_bias;
  for (std::int64_t layer = 0; layer < s.layers; ++layer)
    for (std::int64_t direction = 0; direction < s.directions; ++direction) {
      const auto ask = [&](int id, void*& matrix, void*& bias) {
        matrix = bias = nullptr;
        check(cudnnGetRNNWeightParams(device.cudnn(), descriptors.network.get(),
                                      static_cast<std::int32_t>(layer * s.directions + direction),
                                      places.bytes, memory.get(), id, of_matrix.get(), &matrix,
                                      of_bias.get(), &bias),
              fmt::format("asking cuDNN for matrix {} of layer {}", id, layer));
      };
      const auto matrix_at = [&](int id, std::int64_t inputs) {
        void *matrix, *bias;
        ask(id, matrix, bias);
        return find_place(memory.get(), matrix, of_matrix, {1, H, static_cast<int>(inputs)}, type,
                          fmt::format("matrix {} of layer {}", id, layer));
      };
      const auto bias_at = [&](int id) {
        void *matrix, *bias;
        ask(id, matrix, bias);
        return find_place(memory.get(), bias, of_bias, {1, H, 1}, type,
                          fmt::format("bias {} of layer {}", id, layer));
      };
      for (std::int64_t gate = 0; gate < s.gates(); ++gate) {
        const GateIds ids = gate_ids(s.cell, gate);
        if (problem.find_place(layer) >= 0)
          places.layer.push_back(matrix_at(ids.input, problem.count_inputs(layer)));
        places.iter.push_back(matrix_at(ids.recurrent, s.hidden));
        places.bias.push_back(bias_at(ids.input));
      }
      // The fourth bias of a linear reset belongs to the product with the state.
      if (s.biases() > s.gates()) places.bias.push_back(bias_at(gate_ids(s.cell, 2).recurrent));
    }
  return places;
}

void share_weight_space(CudaDevice& device, const RnnProblem& problem, const WeightPlaces& places,
                        const std::string& prefix, std::vector<TensorSpec>& specs) {
  const bool has_layer = problem.weighted_layers() > 0;
  const auto shared = std::make_shared<SharedMemory>(device, places.bytes, has_layer ? 3 : 2);
  std::size_t which = 0, plain = 0;
  TensorSpec* iter = nullptr;
  for (TensorSpec& spec : specs) {
    const auto is = [&](const char* name) { return spec.name == prefix + name; };
    Layout layout;
    if (is("weights_layer"))
      layout = in_order(spec, {0, 1, 3, 4, 2}, places.layer);  // [L,D,I,G,H] as [L,D,G,H,I]
    else if (is("weights_iter"))
      layout = in_order(spec, {0, 1, 3, 4, 2}, places.iter);
    else if (is("bias"))
      layout = in_order(spec, {0, 1, 2, 3}, places.bias);
    else
      continue;
    if (is("weights_iter")) iter = &spec;
    plain += spec.bytes;
    spec.layout = std::make_shared<const Layout>(std::move(layout));
    spec.memory = [shared, which](std::size_t) { return shared->take(which); };
    ++which;
  }
  // weights_iter also gets the rest of the space, which belongs to none of the three tensors.
  if (iter != nullptr) iter->bytes += places.bytes - std::min(places.bytes, plain);
}

}  // namespace assay::cuda
