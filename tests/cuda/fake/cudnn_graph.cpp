// The graphs of the fake cuDNN (cudnn.cpp has the variables): of one convolution each, and what
// changes a forward one's results point by point. Stricter than the real one where a mistake would
// be silent there. Its engines, in the order of its heuristics: what they note is what they
// compute.
#include <algorithm>
#include <map>
#include <memory>

#include "cudnn_convolve.hpp"
#include "cudnn_points.hpp"
#include "tests/cuda/fake/submitted.hpp"

namespace {

using namespace fake;

struct Engine {
  std::int64_t number;
  std::vector<cudnnBackendNumericalNote_t> notes;
  bool fallback = false;
  std::string name() const { return "engine_" + std::to_string(number); }
  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
};
const std::vector<Engine> engines{
    {46, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
    {47,
     {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
      CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
    {65, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}},
    {67, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}},
    {34, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}},
    {35, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}},
    {70, {}},
    {33, {CUDNN_NUMERICAL_NOTE_FFT}},
    {28, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, true},
    {0, {}, true}};

struct Object {
  cudnnBackendDescriptorType_t type;
  bool finished = false;
  std::map<int, std::vector<char>> values{};
  std::map<int, std::vector<std::shared_ptr<Object>>> parts{};
  const Engine* engine = nullptr;  ///< of one that a query filled

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
/// What a cudnnBackendDescriptor_t points to. Objects live on in those that they were given to.
using Handle = std::shared_ptr<Object>;

Object& object(cudnnBackendDescriptor_t descriptor) { return **static_cast<Handle*>(descriptor); }

std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_HEUR_MODE:
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
std::vector<int> needed(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
              CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT};
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return {CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MATH_PREC};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
              CUDNN_ATTR_OPERATION_POINTWISE_YDESC};
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
std::vector<int> possible(cudnnBackendDescriptorType_t type) {
  std::vector<int> all = needed(type);
  if (type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) all.push_back(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  if (type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
    all.push_back(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  return all;
}

bool is_virtual(const Object& tensor) {
  return tensor.values.contains(CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
         tensor.one<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0;
}
std::int64_t id_of(const Object& tensor) {
  return tensor.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
}

/// The tensor in the words of the older interface; false if it is packed in neither order.
bool described(const Object& tensor, cudnnTensorStruct& into) {
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

std::vector<int> ints(const Object& of, int name) {
  const auto values = of.all<std::int64_t>(name);
  return {values.begin(), values.end()};
}

/// The operations of a graph.
struct Convolving {
  int direction = 0;
  cudnnTensorStruct x{}, w{}, y{};
  std::int64_t x_id = 0, w_id = 0, y_id = 0;
  cudnnConvolutionStruct how{};
  std::int64_t alignment = 1;
  std::vector<Point> points{};
  cudnnTensorStruct out{};  ///< where there are points
  std::int64_t out_id = 0;
};

/// What follows the convolution: a chain, of which the last tensor alone is in memory.
cudnnStatus_t read_points(const std::vector<std::shared_ptr<Object>>& operations,
                          Convolving& into) {
  const auto no = [](const char* why) { return refuse(why, CUDNN_STATUS_BAD_PARAM); };
  const Object* last = &operations.front()->part(700 + 6 * into.direction + 5);
  for (std::size_t i = 1; i < operations.size(); ++i) {
    const Object& operation = *operations[i];
    if (operation.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR || into.direction != 0)
      return refuse("fake: no such fusion", CUDNN_STATUS_NOT_SUPPORTED);
    const Object &function = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                 &x = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                 &y = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    Point point{function.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)};
    point.binary = point.mode == CUDNN_POINTWISE_ADD || point.mode == CUDNN_POINTWISE_SUB ||
                   point.mode == CUDNN_POINTWISE_MUL;
    if (!point.binary && point.mode != CUDNN_POINTWISE_RELU_FWD)
      return refuse("fake: no such function", CUDNN_STATUS_NOT_SUPPORTED);
    if (function.one<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) != into.how.sums)
      return refuse("fake: another arithmetic", CUDNN_STATUS_NOT_SUPPORTED);
    if (!is_virtual(*last) || &x != last) return no("fake: no chain through virtual tensors");
    if (is_virtual(y) != (i + 1 < operations.size())) return no("fake: the last alone is stored");
    if (operation.parts.contains(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != point.binary)
      return no("fake: an operand too many or too few");
    if (!described(y, into.out) || into.out.dims != into.y.dims || into.out.format != into.y.format)
      return no("fake: other extents or another order");
    if (point.binary) {
      const Object& with = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
      if (is_virtual(with) || !described(with, point.with) ||
          point.with.dims.size() != into.y.dims.size())
        return no("fake: no such operand");
      for (std::size_t d = 0; d < into.y.dims.size(); ++d)
        if (point.with.dims[d] != 1 && point.with.dims[d] != into.y.dims[d])
          return no("fake: an operand of other extents");
      point.with_id = id_of(with);
    }
    into.out_id = id_of(y);
    into.points.push_back(point);
    last = &y;
  }
  if (is_virtual(*last)) return no("fake: nothing is stored");
  if (!into.points.empty() && is("FAKE_CUDNN_REFUSES", "fusion"))
    return refuse("fake: no fusion here", CUDNN_STATUS_NOT_SUPPORTED);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t read(const Object& graph, Convolving& into) {
  const auto& operations = graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const Object& operation = *operations.front();
  into.direction = operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ? 0
                   : operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                       ? 1
                       : 2;
  const int first = 700 + 6 * into.direction;  // alpha, beta, the convolution, three tensors
  const int w = first + 3, x = first + 4, y = first + 5;
  const Object& convolution = operation.part(first + 2);
  if (!described(operation.part(x), into.x) || !described(operation.part(w), into.w) ||
      !described(operation.part(y), into.y))
    return refuse("fake: neither nchw nor nhwc", CUDNN_STATUS_NOT_SUPPORTED);
  into.x_id = id_of(operation.part(x)), into.w_id = id_of(operation.part(w)),
  into.y_id = id_of(operation.part(y));
  into.alignment = operation.part(x).one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  into.how.pad = ints(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  into.how.stride = ints(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  into.how.dilation = ints(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  into.how.sums = convolution.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  into.how.groups = into.x.dims[1] / into.w.dims[1];
  const bool doubles = into.how.sums == CUDNN_DATA_DOUBLE;
  const auto factor = [&](int name) {
    return doubles ? operation.one<double>(name) : static_cast<double>(operation.one<float>(name));
  };
  if (factor(first) != 1 || factor(first + 1) != 0 ||
      convolution.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
          CUDNN_CROSS_CORRELATION ||
      convolution.one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) + 2 !=
          static_cast<std::int64_t>(into.x.dims.size()))
    return refuse("fake: another convolution", CUDNN_STATUS_BAD_PARAM);
  return read_points(operations, into);
}

template <class T>
cudnnStatus_t give(const std::vector<T>& values, std::int64_t most, std::int64_t* count,
                   void* into) {
  *count = static_cast<std::int64_t>(values.size());
  if (most < *count) return CUDNN_STATUS_BAD_PARAM;
  std::memcpy(into, values.data(), values.size() * sizeof(T));
  return CUDNN_STATUS_SUCCESS;
}

bool exists(const Engine& engine) {
  const char* const alone = std::getenv("FAKE_CUDNN_ENGINE");
  return alone == nullptr || engine.name() == alone;
}

/// Fills objects that the caller has made.
void fill(void* array, std::int64_t i, const Engine& engine, const Object& from) {
  Object& to = object(static_cast<cudnnBackendDescriptor_t*>(array)[i]);
  to.engine = &engine;
  to.parts = from.parts;
  to.finished = true;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Handle(std::make_shared<Object>(Object{type}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Handle*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  Object& to = object(descriptor);
  const std::vector<int> names = possible(to.type);
  if (to.finished || std::find(names.begin(), names.end(), name) == names.end())
    return refuse("fake: no such attribute here", CUDNN_STATUS_BAD_PARAM);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& part = *static_cast<Handle*>(static_cast<void* const*>(values)[i]);
      if (!part->finished) return refuse("fake: a part is unfinished", CUDNN_STATUS_BAD_PARAM);
      to.parts[name].push_back(part);
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (bytes_of(type) == 0) return refuse("fake: unknown type", CUDNN_STATUS_BAD_PARAM);
  const char* const first = static_cast<const char*>(values);
  to.values[name].assign(first, first + static_cast<std::size_t>(count) * bytes_of(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Object& of = object(descriptor);
  for (const int name : needed(of.type))
    if (!of.values.contains(name) && !of.parts.contains(name))
      return refuse("fake: an attribute is missing", CUDNN_STATUS_BAD_PARAM);
  of.finished = true;
  if (of.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    if (is("FAKE_CUDNN_REFUSES", "graph"))
      return refuse("fake: no graph here", CUDNN_STATUS_NOT_SUPPORTED);
    Convolving convolving;
    return read(of, convolving);
  }
  if (of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    std::size_t bytes;
    of.engine = of.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine;
    return workspace_of(of.engine->name(), &bytes);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t most,
                                       std::int64_t* count, void* into) {
  const Object& of = object(descriptor);
  if (!of.finished) return refuse("fake: unfinished", CUDNN_STATUS_BAD_PARAM);
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const auto mode = of.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
      std::vector<const Engine*> proposed;
      const bool fused = of.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
                             .parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)
                             .size() > 1;
      for (const Engine& engine : engines)
        if ((!fused || engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) &&
            engine.fallback == (mode == CUDNN_HEUR_MODE_FALLBACK) && exists(engine))
          proposed.push_back(&engine);
      *count = static_cast<std::int64_t>(proposed.size());
      for (std::int64_t i = 0; i < std::min(most, *count); ++i)
        fill(into, i, *proposed[static_cast<std::size_t>(i)], of);
      if (most == 0) ++*count;  // the real one, too, promises more than it then gives
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      *count = 1;
      fill(into, 0, *of.engine, of);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
      return give(std::vector{CUDNN_KNOB_TYPE_TILE_SIZE}, most, count, into);
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
      return give(std::vector<std::int64_t>{3}, most, count, into);
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return give(std::vector{of.engine->number}, most, count, into);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return give(of.engine->notes, most, count, into);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      std::size_t bytes = 0;
      const cudnnStatus_t status = workspace_of(of.engine->name(), &bytes);
      return status == CUDNN_STATUS_SUCCESS
                 ? give(std::vector{static_cast<std::int64_t>(bytes)}, most, count, into)
                 : status;
    }
    default:
      return refuse("fake: no such attribute", CUDNN_STATUS_NOT_SUPPORTED);
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const Object &of = object(plan), &tensors = object(pack);
  if (!of.finished || !tensors.finished) return refuse("fake: unfinished", CUDNN_STATUS_BAD_PARAM);
  const Engine& engine = *of.engine;
  if (const cudnnStatus_t status = starting(engine.name());
      status != CUDNN_STATUS_SUCCESS || is("FAKE_CUDNN_IDLE", engine.name()))
    return status;
  Convolving c;
  const Object& settings = of.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (const cudnnStatus_t status = read(settings.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), c);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  const auto ids = tensors.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto places = tensors.all<char*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto at = [&](std::int64_t id) {
    return places.at(static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin()));
  };
  const bool fused = !c.points.empty();
  char *const x = at(c.x_id), *const w = at(c.w_id), *const y = at(fused ? c.out_id : c.y_id);
  std::vector<const char*> all{x, w, y}, operands;
  for (const Point& point : c.points) {
    operands.push_back(point.binary ? at(point.with_id) : nullptr);
    if (point.binary) all.push_back(operands.back());
  }
  for (const char* place : all)
    if (reinterpret_cast<std::uintptr_t>(place) % static_cast<std::uintptr_t>(c.alignment) != 0)
      return refuse("fake: misaligned", CUDNN_STATUS_BAD_PARAM);
  c.how.math = engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
  c.how.narrow = engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  if (engine.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) c.how.parts = 20;
  const bool wrong = is("FAKE_CUDNN_WRONG", engine.name());
  fake::submit([c, wrong, fused, operands, x, w, y] {
    const cudnnFilterStruct filter{c.w.type, c.w.format, c.w.dims};
    std::vector<char> between(fused ? elements(c.y.dims) * fake::bytes_of(c.y.type) : 0);
    convolve(c.direction, c.how, c.x, x, filter, w, c.y, fused ? between.data() : y);
    if (fused) apply(c.points, c.how.sums, c.y, between.data(), operands, c.out, y);
    if (!wrong) return;
    const cudnnTensorStruct& out = fused              ? c.out
                                   : c.direction == 0 ? c.y
                                   : c.direction == 1 ? c.x
                                                      : c.w;
    char* const at_out = c.direction == 0 ? y : c.direction == 1 ? x : w;
    const std::size_t last = elements(out.dims) - 1;
    store(out.type, at_out, last, 2 * load(out.type, at_out, last) + 1);
  });
  for (int more = 0; more < 8 && fused && is("FAKE_CUDNN_SLOW", "fusion"); ++more)
    fake::submit([] {});
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
