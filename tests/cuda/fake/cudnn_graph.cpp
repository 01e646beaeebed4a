// The graphs of the fake cuDNN (cudnn.cpp has the variables): of one convolution each, and what
// changes a forward one's results point by point. Stricter than the real one where a mistake would
// be silent there. Its engines, in the order of its heuristics: what they note is what they
// compute.
#include <algorithm>
#include <fstream>

#include "cudnn_objects.hpp"
#include "cudnn_points.hpp"
#include "tests/cuda/fake/submitted.hpp"

namespace {

using namespace fake;

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

#if CUDNN_MAJOR >= 9
constexpr cudnnStatus_t not_compiled = CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
#else
constexpr cudnnStatus_t not_compiled = CUDNN_STATUS_INTERNAL_ERROR;
#endif

/// The operations of a graph.
struct Convolving {
  int direction = 0;
  cudnnTensorStruct x{}, w{}, y{};
  std::int64_t x_id = 0, w_id = 0, y_id = 0;
  cudnnConvolutionStruct how{};
  std::int64_t alignment = 1;
  std::vector<Point> points{};
  cudnnTensorStruct out{};  ///< if there are points
  std::int64_t out_id = 0;
  bool sums = false;  ///< of y, too, and of its squares
  std::int64_t sum_id = 0, square_sum_id = 0;
  bool fused() const { return sums || !points.empty(); }
};

/// Sums of the convolution's output, which itself is in memory.
cudnnStatus_t read_sums(const Object& operation, Convolving& into) {
  const auto no = [](const char* why) { return refuse(why, CUDNN_STATUS_BAD_PARAM); };
  const Object &x = operation.part(CUDNN_ATTR_OPERATION_GENSTATS_XDESC),
               &sum = operation.part(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC),
               &square_sum = operation.part(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
  if (is_virtual(x) || id_of(x) != into.y_id) return no("fake: sums of another tensor");
  if (operation.one<cudnnGenStatsMode_t>(CUDNN_ATTR_OPERATION_GENSTATS_MODE) !=
          CUDNN_GENSTATS_SUM_SQSUM ||
      operation.one<cudnnDataType_t>(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC) != CUDNN_DATA_FLOAT ||
      into.how.sums != CUDNN_DATA_FLOAT)
    return refuse("fake: another arithmetic", CUDNN_STATUS_NOT_SUPPORTED);
  for (const Object* const of : {&sum, &square_sum}) {
    cudnnTensorStruct found{};
    if (is_virtual(*of) || !described(*of, found) || found.type != CUDNN_DATA_FLOAT ||
        found.dims != std::vector<int>{1, into.y.dims[1], 1, 1})
      return no("fake: sums of other extents");
  }
  into.sums = true;
  into.sum_id = id_of(sum), into.square_sum_id = id_of(square_sum);
  return CUDNN_STATUS_SUCCESS;
}

/// The points that follow the convolution: a chain, of which the last tensor alone is in memory.
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
  if (operations.size() == 2 && into.direction == 0 &&
      operations[1]->type == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR) {
    if (is("FAKE_CUDNN_REFUSES", "fusion"))
      return refuse("fake: no fusion here", CUDNN_STATUS_NOT_SUPPORTED);
    return read_sums(*operations[1], into);
  }
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

/// Writes the engine of a plan, and its convolution, to the file that FAKE_CUDNN_PLANS names.
void log_plan(const Engine& engine, const Object& graph) {
  Convolving of;
  if (std::getenv("FAKE_CUDNN_PLANS") == nullptr || read(graph, of) != CUDNN_STATUS_SUCCESS) return;
  std::ofstream file(std::getenv("FAKE_CUDNN_PLANS"), std::ios::app);
  file << engine.name() << ' ' << of.direction << of.sums << of.points.size() << of.x.type;
  for (const auto* const all : {&of.x.dims, &of.w.dims, &of.y.dims, &of.how.pad, &of.how.stride})
    for (const int each : *all) file << ' ' << each;
  file << '\n';
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
    const Object& settings = of.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const Object& graph = settings.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    of.engine = settings.engine;
    log_plan(*of.engine, graph);
    if (is("FAKE_CUDNN_UNCOMPILED", of.engine->name()) ||
        (is("FAKE_CUDNN_UNCOMPILED", "fusion") &&
         graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).size() > 1))
      return refuse("fake: " + of.engine->name() + " does not compile", not_compiled);
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
  char *const x = at(c.x_id), *const w = at(c.w_id), *const y = at(fused ? c.out_id : c.y_id),
              *const sum = c.sums ? at(c.sum_id) : nullptr,
              *const square_sum = c.sums ? at(c.square_sum_id) : nullptr;
  std::vector<const char*> all{x, w, y, sum, square_sum}, operands;
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
  std::vector<std::int64_t> what{of.number};
  for (const char* place : all)
    what.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(place)));
  static std::int64_t calls = 0;
  if (std::count(operands.begin(), operands.end(), y) > 0) what.push_back(++calls);  // in place
  fake::submit_repeatable(what, [c, wrong, fused, operands, x, w, y, sum, square_sum] {
    const cudnnFilterStruct filter{c.w.type, c.w.format, c.w.dims};
    if (c.sums) {
      cudnnTensorStruct wide = c.y;
      wide.type = c.how.sums;
      std::vector<char> before(elements(wide.dims) * fake::bytes_of(wide.type));
      convolve(c.direction, c.how, c.x, x, filter, w, wide, before.data());
      sum_up(wide, before.data(), c.y, y, sum, square_sum);
    } else {
      std::vector<char> between(fused ? elements(c.y.dims) * fake::bytes_of(c.y.type) : 0);
      convolve(c.direction, c.how, c.x, x, filter, w, c.y, fused ? between.data() : y);
      if (fused) apply(c.points, c.how.sums, c.y, between.data(), operands, c.out, y);
    }
    if (!wrong) return;
    const cudnnTensorStruct& out = fused              ? c.out
                                   : c.direction == 0 ? c.y
                                   : c.direction == 1 ? c.x
                                                      : c.w;
    char* const at_out = c.direction == 0 ? y : c.direction == 1 ? x : w;
    const std::size_t last = elements(out.dims) - 1;
    store(out.type, at_out, last, 2 * load(out.type, at_out, last) + 1);
  });
  for (int more = 0; more < 8 && c.fused() && is("FAKE_CUDNN_SLOW", "fusion"); ++more)
    fake::submit([] {});
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
