// Convolutions by cuDNN.

#include "kernels/conv/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "kernels/conv/sums.hpp"
#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/conv_algorithms.hpp"
#include "kernels/cuda/conv_plain_weights.hpp"
#include "kernels/cuda/conv_wide_inputs.hpp"
#include "kernels/cuda/trial_run.hpp"

namespace assay::cuda {
namespace {

class Convolution final : public Operation {
 public:
  Convolution(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form)
      : device_(device),
        precision_(problem.precision()),
        direction_(problem.direction()),
        products_(problem.flops() / 2 / static_cast<double>(form.specs[2].elements())),
        call_(device, problem, form),
        arguments_(form.specs) {
    executed_.storage = std::string(name(storage(precision_)));
    if (precision_ == Precision::int8) executed_.storage = std::string(name(precision_));
    executed_.compute = form.arithmetic.compute;
    executed_.accumulate = form.arithmetic.accumulate;
    executed_.layout = form.layout;
  }

  /// Settles the algorithm. Asks for its workspace, which is where cuDNN says no to most of what it
  /// cannot do.
  void choose(int algorithm, cudnnMathType_t math) {
    algorithm_ = algorithm;
    call_.set_math(math);
    executed_.algorithm = conv_algorithm_names(direction_)[static_cast<std::size_t>(algorithm)];
    executed_.implementation = fmt::format("{} {}", cudnn_library(), math_name(math));
    executed_.workspace_bytes = call_.workspace(algorithm);
    if (executed_.workspace_bytes == 0) return;
    arguments_.push_back(scratch_tensor("workspace", Role::workspace, executed_.workspace_bytes));
  }

  /// Runs once: why that is not what was asked for, or nothing. Throws what cuDNN says no to only
  /// now, and what is broken.
  std::optional<Unsupported> prove(CudnnDevice& device, const std::string& request) {
    return judge(trial_run(device, *this, request));
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = tensors[i]->data();
    workspace_ = tensors.size() > data_.size() ? tensors[data_.size()]->data() : nullptr;
  }

  void run(Stream& stream) override {
    device_.use(stream);
    const cudnnStatus_t status =
        call_.run(algorithm_, data_.data(), workspace_, executed_.workspace_bytes);
    if (status != CUDNN_STATUS_SUCCESS)
      throw CudnnError(fmt::format("{} ({})", executed_.algorithm, name(direction_)), status);
  }

  Executed executed() const override { return executed_; }

 private:
  /// Compares what ran with what was asked for.
  std::optional<Unsupported> judge(const std::optional<Seen>& seen) {
    const Family asked = family_of(executed_.algorithm);
    if (!seen) {
      // The bounds of fp32 exclude tf32, and integers that come out exactly exclude transforms: an
      // ok row proves both, while sums are not so long that the bounds are wide and no integers
      // are small enough. Of 16-bit tensors, and of which transform, errors tell too little.
      const bool shown = (precision_ == Precision::fp32 || precision_ == Precision::fp64 ||
                          precision_ == Precision::int8) &&
                         products_ < longest_shown;
      executed_.evidence = shown && asked == Family::direct ? "numerical" : "requested";
      return std::nullopt;
    }
    executed_.implementation = seen->names;
    const std::string why = note_kernels(*seen, precision_, executed_);
    if (seen->adds_parts && size_of(storage(precision_)) == 2) {
      executed_.accumulate = executed_.storage;
      executed_.numbers[sums::partial_sums] = sums::most_parts;  // docs/method-conv.md
    }
    if (seen->family != asked)
      return Unsupported{fmt::format("{} ran something else for {} ({})", cudnn_library(),
                                     executed_.algorithm, seen->names)};
    if (!why.empty()) return Unsupported{fmt::format("{}: {}", cudnn_library(), why)};
    return std::nullopt;
  }

  static constexpr double longest_shown = 1e6;

  const CudnnDevice& device_;
  Precision precision_;
  ConvDirection direction_;
  double products_;  ///< in one output, in the mean
  ConvCall call_;
  std::vector<TensorSpec> arguments_;
  int algorithm_ = 0;
  std::array<void*, 3> data_{};
  void* workspace_ = nullptr;
  Executed executed_;
};

/// An operation whose algorithm is settled and has run once; or why there is none.
Result<std::unique_ptr<Operation>> settled(CudnnDevice& place, const ConvProblem& problem,
                                           const ConvForm& form, int algorithm,
                                           const std::string& request) {
  try {
    auto operation = std::make_unique<Convolution>(place, problem, form);
    operation->choose(algorithm, form.arithmetic.math);
    if (auto refusal = operation->prove(place, request)) return std::move(*refusal);
    return operation;
  } catch (const CudnnError& error) {
    if (!not_supported(error.status)) throw;
    return Unsupported{fmt::format("{}: {}", cudnn_library(), error.words)};
  }
}

/// Whether sums are split into parts that are added in 16 bits.
bool adds_parts(const Operation& operation) {
  return operation.executed().numbers.contains(sums::partial_sums);
}

/// Whether the kernels of `a` took no longer than those of `b`, but for what a trace may vary;
/// false if a duration is unknown.
bool is_as_fast(const Operation& a, const Operation& b) {
  const auto seconds = [](const Operation& of) {
    const Executed executed = of.executed();
    const auto found = executed.numbers.find("kernels_s");
    return found == executed.numbers.end() ? 0 : found->second;
  };
  const double of_a = seconds(a), of_b = seconds(b);
  return of_a > 0 && of_b > 0 && of_a <= 1.05 * of_b;
}

/// The library's best algorithm that keeps to the form's arithmetic; of those that add parts of
/// sums in 16 bits only what is faster than all others.
Result<std::unique_ptr<Operation>> best(CudnnDevice& place, const ConvProblem& problem,
                                        const ConvForm& form, const std::string& request) {
  std::string why = fmt::format(
      "{} offers no algorithm in this arithmetic that fits into the "
      "memory that is free, {}",
      cudnn_library(), gib(place.memory_available()));
  const ConvCall call(place, problem, form);
  std::unique_ptr<Operation> first;
  for (const ConvChoice& offer :
       fitting(call.offers(), form.arithmetic.math, place.memory_available())) {
    Result<std::unique_ptr<Operation>> made =
        settled(place, problem, form, offer.algorithm, request);
    if (auto* refusal = std::get_if<Unsupported>(&made)) {
      why = std::move(refusal->reason);
      continue;
    }
    std::unique_ptr<Operation>& operation = std::get<std::unique_ptr<Operation>>(made);
    if (!adds_parts(*operation) && (!first || is_as_fast(*operation, *first))) return made;
    if (!first) first = std::move(operation);
  }
  if (first) return first;
  return Unsupported{std::move(why)};
}

/// Of one type, as cuDNN has them.
Result<std::unique_ptr<Operation>> make_uniform(CudnnDevice& place, const ConvProblem& conv,
                                                const Options& options) {
  const Precision precision = conv.precision();
  const std::string wanted = options.get("algorithm", "auto");
  const std::vector<std::string>& names = conv_algorithm_names(conv.direction());
  if (wanted != "auto" && std::find(names.begin(), names.end(), wanted) == names.end())
    return Unsupported{fmt::format("cuDNN has no {} for {} (it has auto, {})", wanted,
                                   name(conv.direction()), fmt::join(names, ", "))};
  if (std::string why = why_not_precision(precision, place.facts()); !why.empty())
    return Unsupported{std::move(why)};
  const std::string layout = options.get("layout", "any");
  const bool plain_weights = layout == plain_weights_layout;
  if (plain_weights && precision == Precision::int8)
    return Unsupported{fmt::format("cuda has no int8 in {}. Use nhwc.", layout)};
  Result<ConvForm> made = conv_form(conv, plain_weights ? "nhwc" : layout);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
  const ConvForm& form = std::get<ConvForm>(made);
  const std::string request = fmt::format("{} {}, {}, {}, {}", wanted, name(conv.direction()),
                                          name(precision), form.layout, conv.canonical());
  const auto found = std::find(names.begin(), names.end(), wanted);
  Result<std::unique_ptr<Operation>> operation =
      wanted == "auto"
          ? best(place, conv, form, request)
          : settled(place, conv, form, static_cast<int>(found - names.begin()), request);
  if (const auto* refusal = std::get_if<Unsupported>(&operation))
    return Unsupported{fmt::format("{} ({})", refusal->reason, request)};
  if (!plain_weights) return operation;
  return with_plain_weights(conv, std::move(std::get<std::unique_ptr<Operation>>(operation)));
}

/// From inputs that are widened. tf32 holds all digits of 16-bit numbers, so their products are
/// exact in it; what a transform makes of them is not.
Result<std::unique_ptr<Operation>> make_mixed(CudnnDevice& place, const ConvProblem& conv,
                                              const Options& options) {
  if (std::string why = why_not_precision(format(conv.precision()).arithmetic, place.facts());
      !why.empty())
    return Unsupported{std::move(why)};
  std::vector<std::string> names{options.get("algorithm", "auto")};
  if (names.front() == "auto")
    std::ranges::copy_if(conv_algorithm_names(conv.direction()), std::back_inserter(names),
                         [](const std::string& name) { return family_of(name) == Family::direct; });
  std::string why;
  for (const Precision units : {Precision::tf32, Precision::fp32})
    for (const std::string& algorithm : names) {
      Options of_wide = options;
      of_wide.settings["algorithm"] = algorithm;
      const ConvProblem wide(conv.shape(), conv.direction(), units);
      Result<std::unique_ptr<Operation>> made = make_uniform(place, wide, of_wide);
      if (auto* refusal = std::get_if<Unsupported>(&made)) {
        why = std::move(refusal->reason);
        continue;
      }
      std::unique_ptr<Operation>& operation = std::get<std::unique_ptr<Operation>>(made);
      if (units == Precision::fp32 || family_of(operation->executed().algorithm) == Family::direct)
        return with_wide_inputs(conv, std::move(operation));
    }
  return Unsupported{std::move(why)};
}

Result<std::unique_ptr<Operation>> make_conv(Device& device, const Problem& problem,
                                             const Options& options, Communicator&) {
  const ConvProblem& conv = problem_cast<ConvProblem>(problem);
  auto& place = static_cast<CudnnDevice&>(device);
  if (const auto why = why_not_precision(conv)) return Unsupported{*why};
  return is_mixed(conv.precision()) ? make_mixed(place, conv, options)
                                    : make_uniform(place, conv, options);
}

const Maker add_conv{makers(), kind_of<ConvProblem>(), &make_conv, all_conv_algorithm_names()};

}  // namespace
}  // namespace assay::cuda
