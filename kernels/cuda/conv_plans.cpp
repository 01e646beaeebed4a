#include "kernels/cuda/conv_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace assay::cuda {
namespace {

constexpr std::array note_names{"TENSOR_CORE",
                                "DOWN_CONVERT_INPUTS",
                                "REDUCED_PRECISION_REDUCTION",
                                "FFT",
                                "NONDETERMINISTIC",
                                "WINOGRAD",
                                "WINOGRAD_TILE_4x4",
                                "WINOGRAD_TILE_6x6",
                                "WINOGRAD_TILE_13x13",
                                "STRICT_NAN_PROP"};
static_assert(CUDNN_NUMERICAL_NOTE_TENSOR_CORE == 0 && CUDNN_NUMERICAL_NOTE_WINOGRAD == 5 &&
              CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13 == 8);

constexpr std::size_t most_notes = 32, most_knobs = 64;  // more than any cuDNN has
constexpr std::int64_t alignment = 16;  // of all tensors, in bytes; those of this project are
                                        // aligned to 256

#if CUDNN_VERSION >= 90800
constexpr auto gpu_of_heuristics = CUDNN_ATTR_ENGINEHEUR_DEVICEPROP;
constexpr auto gpu_of_plan = CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP;
#else  // it cannot describe a GPU
constexpr cudnnBackendAttributeName_t gpu_of_heuristics{}, gpu_of_plan{};
#endif

/// Attributes of an operation: alpha, beta, the convolution, and the tensors with their parts.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, w, y;
};
OperationNames list_names(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    case ConvDirection::bwd_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case ConvDirection::bwd_weights:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
}

/// [n, c, spatial …], the last one innermost, or the channels.
std::vector<std::int64_t> make_strides(const std::vector<std::int64_t>& dims, bool channels_last) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  if (channels_last) strides[1] = 1, stride = dims[1];
  for (std::size_t d = dims.size(); d-- > 0;)
    if (d != 1 || !channels_last) strides[d] = stride, stride *= dims[d];
  return strides;
}

/// A tensor with this number in the graph.
GraphObject make_tensor(std::int64_t number, cudnnDataType_t type,
                        const std::vector<std::int64_t>& dims, bool channels_last,
                        bool is_virtual = false) {
  GraphObject tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, make_strides(dims, channels_last));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, std::array{number});
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::array{alignment});
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  tensor.finalize();
  return tensor;
}

ConvEngine find_engine(GraphObject settings) {
  const GraphObject engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t into = engine.get();
  settings.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &into);
  ConvEngine described{std::move(settings),
                       fmt::format("eng{}", engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)),
                       std::vector<cudnnBackendNumericalNote_t>(most_notes)};
  described.notes.resize(static_cast<std::size_t>(engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                             CUDNN_TYPE_NUMERICAL_NOTE, most_notes,
                                                             described.notes.data())));
  std::vector<GraphObject> knobs;
  std::vector<cudnnBackendDescriptor_t> proposals;
  for (std::size_t i = 0; i < most_knobs; ++i)
    proposals.push_back(knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR).get());
  const std::int64_t count =
      described.settings.get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                             most_knobs, proposals.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    cudnnBackendKnobType_t knob{};
    knobs[i].get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob);
    described.name += fmt::format("_k{}={}", static_cast<int>(knob),
                                  knobs[i].get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return described;
}

Family find_family(const ConvEngine& engine) {
  if (engine.has(CUDNN_NUMERICAL_NOTE_FFT)) return Family::fft;
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13})
    if (engine.has(note)) return Family::winograd;
  return Family::direct;
}

class PlanWay final : public ConvWay {
 public:
  PlanWay(cudnnHandle_t handle, std::shared_ptr<const ConvGraph> graph, const ConvEngine& engine)
      : handle_(handle),
        graph_(std::move(graph)),
        plan_(std::make_shared<GraphObject>(graph_->plan(engine))) {
    workspace = static_cast<std::size_t>(plan_->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    std::vector<std::string> notes;
    for (const cudnnBackendNumericalNote_t note : engine.notes)
      notes.push_back(note < note_names.size() ? note_names[note]
                                               : fmt::format("note {}", static_cast<int>(note)));
    implementation = fmt::format("{} {}{}{}", cudnn_library(), engine.name,
                                 notes.empty() ? "" : " ", fmt::join(notes, " "));
    meaning = KernelMeaning{find_family(engine), engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE),
                            engine.adds_parts(), implementation};
    if (engine.has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13)) winograd_points = 13;
    nondeterministic = engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  }

  std::unique_ptr<ConvWay> again() const override { return std::make_unique<PlanWay>(*this); }

  void bind(void* const* tensors, void* workspace_at) override {
    tensors_ = std::make_shared<GraphObject>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    std::vector<std::int64_t> numbers(graph_->tensors());
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
    tensors_->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, numbers);
    tensors_->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(numbers),
                  tensors);
    tensors_->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace_at);
    tensors_->finalize();
  }

  cudnnStatus_t run() override {
    return cudnnBackendExecute(handle_, plan_->get(), tensors_->get());
  }

 private:
  cudnnHandle_t handle_;
  std::shared_ptr<const ConvGraph> graph_;
  std::shared_ptr<const GraphObject> plan_;
  std::shared_ptr<GraphObject> tensors_;
};

}  // namespace

const std::vector<std::string>& list_conv_plan_names() {
  static const std::vector<std::string> names{"graph", "graph_winograd", "graph_fft"};
  return names;
}

GraphObject::GraphObject(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &object_), "making an object of a cuDNN graph");
}

GraphObject::~GraphObject() {
  if (object_ != nullptr) cudnnBackendDestroyDescriptor(object_);
}

void GraphObject::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      std::int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(object_, name, type, count, values),
        fmt::format("setting attribute {} of a cuDNN graph", static_cast<int>(name)));
}

void GraphObject::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void GraphObject::set(cudnnBackendAttributeName_t name, const GraphObject& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.object_);
}

void GraphObject::finalize() {
  check(cudnnBackendFinalize(object_), "finishing an object of a cuDNN graph");
}

std::int64_t GraphObject::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              std::int64_t most, void* values) const {
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(object_, name, type, most, &count, values),
        fmt::format("asking for attribute {} of a cuDNN graph", static_cast<int>(name)));
  return count;
}

std::int64_t GraphObject::get(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

bool ConvEngine::has(cudnnBackendNumericalNote_t note) const {
  return std::ranges::find(notes, note) != notes.end();
}

bool ConvEngine::adds_parts() const {
  return has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
}

bool keeps_to(const ConvEngine& engine, Precision precision, Family family) {
  const bool tensor_cores = engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  return find_family(engine) == family && !engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
         !(precision == Precision::fp32 && tensor_cores) &&
         !(precision == Precision::tf32 && !tensor_cores) &&
         !(size_of(storage(precision)) != 2 && engine.adds_parts());
}

ConvGraph::ConvGraph(const GraphTarget& target, const ConvProblem& problem, const ConvForm& form)
    : target_(target),
      graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
      tensors_(form.specs.size()) {
  const std::size_t filter = conv_parts(problem.direction()).w;
  for (std::size_t i = 0; i < form.specs.size(); ++i) {
    const TensorSpec& spec = form.specs[i];
    keep(make_tensor(static_cast<std::int64_t>(i), cudnn_type(spec.type),
                     i == filter ? filter_dims(spec) : spec.dims, form.layout == "nhwc"));
  }
  convolve(problem, form);
  if (form.normalization) normalize(form, type_of_sums(problem.precision()));
  if (form.sums) sum_up(type_of_sums(problem.precision()));
  if (target.handle != nullptr)
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(operations_),
             operations_.data());
  graph_.finalize();
}

/// The tensor is the convolution's output, but it is not stored.
const GraphObject& ConvGraph::virtual_output(const ConvForm& form, cudnnDataType_t type) {
  const TensorSpec& dst = form.specs[conv_parts(ConvDirection::forward).y];
  return *(last_ =
               &keep(make_tensor(std::ssize(parts_), type, dst.dims, form.layout == "nhwc", true)));
}

void ConvGraph::convolve(const ConvProblem& problem, const ConvForm& form) {
  const OperationNames names = list_names(problem.direction());
  const ConvParts parts = conv_parts(problem.direction());
  GraphObject convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const ConvAxes axes = conv_axes(problem.shape(), form.specs[parts.x].dims.size() == 5);
  const cudnnDataType_t sums = type_of_sums(problem.precision());
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, axes.dilations);
  convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, axes.strides);
  convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, axes.pads);
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, axes.pads);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                  std::array{static_cast<std::int64_t>(axes.pads.size())});
  convolution.finalize();

  GraphObject operation(names.type);
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  const bool doubles = sums == CUDNN_DATA_DOUBLE;
  const auto factor = [&](cudnnBackendAttributeName_t name, const double& value, const float& f) {
    if (doubles)
      operation.set(name, CUDNN_TYPE_DOUBLE, 1, &value);
    else
      operation.set(name, CUDNN_TYPE_FLOAT, 1, &f);
  };
  factor(names.alpha, one, one_f);
  factor(names.beta, zero, zero_f);
  operation.set(names.convolution, keep(std::move(convolution)));
  operation.set(names.x, *parts_[parts.x]);
  operation.set(names.w, *parts_[parts.w]);
  operation.set(names.y, form.normalization ? virtual_output(form, sums) : *parts_[parts.y]);
  operation.finalize();
  operations_.push_back(keep(std::move(operation)).get());
}

void ConvGraph::normalize(const ConvForm& form, cudnnDataType_t type) {
  const bool relu = *form.normalization != NormFusion::none,
             adds = *form.normalization == NormFusion::add_relu;
  const GraphObject& dst = *parts_[conv_parts(ConvDirection::forward).y];
  const auto step = [&](cudnnPointwiseMode_t mode, const GraphObject* with, bool ends) {
    const GraphObject& x = *last_;
    point_by_point(mode, type, x, with, ends ? dst : virtual_output(form, type));
  };
  step(CUDNN_POINTWISE_SUB, parts_[normalized_parts.mean].get(), false);
  step(CUDNN_POINTWISE_MUL, parts_[normalized_parts.factor].get(), false);
  step(CUDNN_POINTWISE_ADD, parts_[normalized_parts.shift].get(), !relu);
  if (adds) step(CUDNN_POINTWISE_ADD, parts_[normalized_parts.addend].get(), false);
  if (relu) step(CUDNN_POINTWISE_RELU_FWD, nullptr, true);
}

void ConvGraph::sum_up(cudnnDataType_t type) {
  GraphObject operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, *parts_[conv_parts(ConvDirection::forward).y]);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, *parts_[summed_parts.sum]);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, *parts_[summed_parts.square_sum]);
  operation.finalize();
  operations_.push_back(keep(std::move(operation)).get());
}

void ConvGraph::point_by_point(cudnnPointwiseMode_t mode, cudnnDataType_t type,
                               const GraphObject& x, const GraphObject* with,
                               const GraphObject& y) {
  GraphObject function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  function.finalize();
  GraphObject operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(function)));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (with != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *with);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
  operations_.push_back(keep(std::move(operation)).get());
}

std::vector<ConvEngine> ConvGraph::engines() const {
  std::vector<ConvEngine> all;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (GraphObject& settings : proposals(mode)) {
      ConvEngine engine = find_engine(std::move(settings));
      if (std::ranges::none_of(all, [&](const ConvEngine& a) { return a.name == engine.name; }))
        all.push_back(std::move(engine));
    }
  return all;
}

std::vector<GraphObject> ConvGraph::proposals(cudnnBackendHeurMode_t mode) const {
  std::vector<GraphObject> objects;
  try {
    GraphObject heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (target_.properties != nullptr) heuristics.set(gpu_of_heuristics, *target_.properties);
    heuristics.finalize();
    const auto ask = [&](std::int64_t most, void* into) {
      return heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most,
                            into);
    };
    const std::int64_t most = ask(0, nullptr);
    std::vector<cudnnBackendDescriptor_t> into;
    while (static_cast<std::int64_t>(into.size()) < most)
      into.push_back(objects.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
    // The library may return fewer than it announced.
    const std::int64_t count = most == 0 ? 0 : ask(most, into.data());
    while (static_cast<std::int64_t>(objects.size()) > count) objects.pop_back();
  } catch (const CudnnError& error) {
    if (!not_supported(error.status)) throw;
    objects.clear();
  }
  return objects;
}

GraphObject ConvGraph::plan(const ConvEngine& engine) const {
  GraphObject plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target_.handle != nullptr)
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target_.handle);
  else
    plan.set(gpu_of_plan, *target_.properties);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.settings);
  plan.finalize();
  return plan;
}

std::unique_ptr<ConvWay> plan_way(cudnnHandle_t handle, std::shared_ptr<const ConvGraph> graph,
                                  const ConvEngine& engine) {
  return std::make_unique<PlanWay>(handle, std::move(graph), engine);
}

}  // namespace assay::cuda
