#pragma once
// The objects of the graph interface of the fake cuDNN, and what they must have.
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "cudnn_convolve.hpp"

namespace fake {

struct Engine {
  std::int64_t number;
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool fallback = false;
  std::string name() const { return "engine_" + std::to_string(number); }
  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
};

struct Object {
  cudnnBackendDescriptorType_t type;
  bool finished = false;
  std::map<int, std::vector<char>> values{};
  std::map<int, std::vector<std::shared_ptr<Object>>> parts{};
  const Engine* engine = nullptr;  ///< of one that a query filled
  std::int64_t number = ++made;
  static inline std::int64_t made = 0;

  template <class T>
  std::vector<T> all(int name) const {
    const std::vector<char>& bytes = values.at(name);
    std::vector<T> found(bytes.size() / sizeof(T));
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  }
  template <class T>
  T one(int name) const {
    return all<T>(name).at(0);
  }
  const Object& part(int name) const { return *parts.at(name).at(0); }
};
/// The object to which a cudnnBackendDescriptor_t points. Objects live on in those that they were
/// given to.
using Handle = std::shared_ptr<Object>;

inline Object& object(cudnnBackendDescriptor_t descriptor) {
  return **static_cast<Handle*>(descriptor);
}

inline std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_GENSTATS_MODE:
    case CUDNN_TYPE_FLOAT:
      return 4;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 0;
  }
}

/// Attributes that an object must have, of those that this project uses.
inline std::vector<int> needed(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
              CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT};
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return {CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MATH_PREC};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
              CUDNN_ATTR_OPERATION_POINTWISE_YDESC};
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC,
              CUDNN_ATTR_OPERATION_GENSTATS_XDESC, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC,
              CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC};
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return {CUDNN_ATTR_CONVOLUTION_COMP_TYPE,     CUDNN_ATTR_CONVOLUTION_CONV_MODE,
              CUDNN_ATTR_CONVOLUTION_DILATIONS,     CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
              CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
              CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {700, 701, 702, 703, 704, 705};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {706, 707, 708, 709, 710, 711};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {712, 713, 714, 715, 716, 717};
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_OPS};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
              CUDNN_ATTR_VARIANT_PACK_WORKSPACE};
    default:
      return {-1};  // not to be finished by a caller
  }
}

/// Attributes that it may have besides.
inline std::vector<int> possible(cudnnBackendDescriptorType_t type) {
  std::vector<int> all = needed(type);
  if (type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) all.push_back(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  if (type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
    all.push_back(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  return all;
}

inline bool is_virtual(const Object& tensor) {
  return tensor.values.contains(CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
         tensor.one<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0;
}
inline std::int64_t id_of(const Object& tensor) {
  return tensor.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
}

/// The tensor in the words of the older interface; false if it is packed in neither order.
inline bool described(const Object& tensor, cudnnTensorStruct& into) {
  const auto dims = tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  into = {tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
          CUDNN_TENSOR_NCHW,
          {dims.begin(), dims.end()}};
  for (const auto format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC}) {
    bool same = dims.size() == strides.size();
    for (std::size_t d = 0; d < dims.size() && same; ++d) {
      std::vector<int> at(dims.size(), 0);
      if (dims[d] < 2) continue;
      at[d] = 1;
      same = place(format, into.dims, at.data()) == static_cast<std::size_t>(strides[d]);
    }
    into.format = format;
    if (same) return true;
  }
  return false;
}

inline std::vector<int> ints(const Object& of, int name) {
  const auto values = of.all<std::int64_t>(name);
  return {values.begin(), values.end()};
}

}  // namespace fake
