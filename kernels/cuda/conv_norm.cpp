// A convolution and its normalization in inference, by one graph of cuDNN, which stores no
// intermediate results.

#include "kernels/conv_norm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/conv_choice.hpp"
#include "kernels/cuda/conv_plans.hpp"
#include "kernels/cuda/norm_items.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// Computes the factors of the channels, then runs the graph, which reads them.
class NormalizedConvolution final : public BoundOperation {
 public:
  NormalizedConvolution(const ConvNormProblem& problem, const NormProblem& norm,
                        std::unique_ptr<Operation> inner)
      : BoundOperation(problem.tensors()),
        inner_(std::move(inner)),
        what_("factors of " + problem.canonical()),
        channels_(norm.shape().ic),
        stride_((channels_ + 3) / 4 * 4),
        fusion_(norm.fusion()) {
    for (TensorSpec& spec : arguments_)
      if (const auto same = std::ranges::find(inner_->arguments(), spec.name, &TensorSpec::name);
          same != inner_->arguments().end() && spec.dims == same->dims)
        spec = *same;
    for (const TensorSpec& spec : inner_->arguments())
      if (spec.role == Role::workspace) arguments_.push_back(spec);
    const std::size_t bytes = 3 * static_cast<std::size_t>(stride_) *
                              size_of(inner_->arguments()[normalized_parts.factor].type);
    arguments_.push_back(bytes_tensor("factors", Role::workspace, bytes));
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    inside_.clear();
    std::vector<Tensor*> of_inner;
    std::size_t at = 0;
    for (const char* name : {"factor", "mean", "shift"}) place(name, at++);
    for (const TensorSpec& spec : inner_->arguments())
      if (const auto own = inside_.find(spec.name); own != inside_.end())
        of_inner.push_back(own->second.get());
      else
        of_inner.push_back(*std::ranges::find(tensors, spec.name,
                                              [](Tensor* tensor) { return tensor->spec().name; }));
    inner_->bind(of_inner);
  }

  void run(Stream& stream) override {
    if (inner_->arguments()[normalized_parts.factor].type == DataType::fp64)
      make_factors<double>(stream);
    else
      make_factors<float>(stream);
    inner_->run(stream);
  }

  Execution execution() const override {
    Execution execution = inner_->execution();
    execution.numbers.erase("kernels_s");  // of the inner operation's kernels alone
    execution.workspace_bytes += arguments_.back().bytes;
    execution.implementation = fmt::format("{}, with normalization{}{}", execution.implementation,
                                           fusion_ == NormFusion::add_relu ? ", addition" : "",
                                           fusion_ == NormFusion::none ? "" : ", rectifier");
    return execution;
  }

 private:
  /// A part of the factors, as the argument of the graph with this name.
  void place(const std::string& name, std::size_t part) {
    TensorSpec spec = *std::ranges::find(inner_->arguments(), name, &TensorSpec::name);
    auto* const to = static_cast<std::byte*>(data_.back()) +
                     part * static_cast<std::size_t>(stride_) * size_of(spec.type);
    spec.memory = [to](std::size_t) { return std::shared_ptr<void>(std::shared_ptr<void>(), to); };
    inside_[name] = std::make_unique<CudaTensor>(spec);
  }

  template <class Value>
  void make_factors(Stream& stream) const {
    check(for_each(NormFactor<Value>{find<const Value>("scale"), find<const Value>("variance"),
                                     find<const Value>("mean"), find<const Value>("shift"),
                                     norm_epsilon, stride_, find<Value>("factors")},
                   channels_, cuda_stream(stream)),
          what_);
  }

  std::unique_ptr<Operation> inner_;
  std::string what_;
  std::int64_t channels_, stride_;  ///< in whole lines of 16 bytes, like the graph's tensors
  NormFusion fusion_;
  std::map<std::string, std::unique_ptr<CudaTensor>> inside_;
};

OperationResult make_conv_norm(Device& device, const Problem& what, const Options& options,
                               Communicator& ranks) {
  const ConvNormProblem& problem = problem_cast<ConvNormProblem>(what);
  const auto& conv = problem_cast<ConvProblem>(problem.convolution());
  const auto& norm = problem_cast<NormProblem>(problem.normalization());
  auto& place = static_cast<CudnnDevice&>(device);
  const std::string graph = list_conv_plan_names().front(),
                    wanted = options.get("algorithm", "auto"),
                    layout = options.get("layout", "any");
  if (wanted != "auto" && wanted != graph)
    return Unsupported{
        fmt::format("cuda normalizes with a convolution by {} alone. Use auto.", graph)};
  if (layout != "any" && layout != "nhwc")
    return Unsupported{
        fmt::format("cuda normalizes with a convolution in nhwc, not in {}.", layout)};
  if (conv.precision() == Precision::fp32 || conv.precision() == Precision::fp64)
    return Unsupported{fmt::format(
        "cuda normalizes with a convolution on tensor cores (in {} cuDNN has a fallback alone)",
        name(conv.precision()))};
  if (auto why = why_not_precision(conv)) return Unsupported{std::move(*why)};
  if (auto why = why_not_precision(norm)) return Unsupported{std::move(*why)};
  return on_all(ranks, [&]() -> OperationResult {
    OperationResult has = on_all(ranks, [&]() -> OperationResult {
      if (std::string why = why_not_precision(conv.precision(), place.facts()); !why.empty())
        return Unsupported{std::move(why)};
      return std::unique_ptr<Operation>();
    });
    if (std::holds_alternative<Unsupported>(has)) return has;
    Result<ConvForm> plain = conv_form(conv, "nhwc");
    if (auto* refusal = std::get_if<Unsupported>(&plain)) return std::move(*refusal);
    const ConvForm form = add_normalization(std::move(std::get<ConvForm>(plain)), norm.fusion());
    const ConvRequest conv_request{
        place, conv, form, graph, fmt::format("{}, {}", name(conv.precision()), what.canonical()),
        ranks};
    OperationResult best = choose_best(conv_request, false, {graph});
    if (const auto* refusal = std::get_if<Unsupported>(&best))
      return Unsupported{fmt::format("{} ({})", refusal->reason, conv_request.text())};
    return std::make_unique<NormalizedConvolution>(
        problem, norm, std::move(std::get<std::unique_ptr<Operation>>(best)));
  });
}

const Maker add_conv_norm{
    makers(), problem_kind<ConvNormProblem>(), &make_conv_norm, {list_conv_plan_names().front()}};

}  // namespace
}  // namespace assay::cuda
