// Convolutions by cuDNN.

#include "kernels/conv/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/conv_algorithms.hpp"
#include "kernels/cuda/kernel_names.hpp"
#include "support/cuda/trace.hpp"

namespace assay::cuda {
namespace {

std::string gib(std::size_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

const char* math_name(cudnnMathType_t math) {
  return math == CUDNN_FMA_MATH         ? "FMA_MATH"
         : math == CUDNN_TENSOR_OP_MATH ? "TENSOR_OP_MATH"
                                        : "DEFAULT_MATH";
}

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
    executed_.compute = form.compute;
    executed_.accumulate = form.accumulate;
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
    TensorSpec spec;
    spec.name = "workspace";
    spec.role = Role::workspace;
    spec.type = DataType::u8;
    spec.bytes = executed_.workspace_bytes;
    arguments_.push_back(std::move(spec));
  }

  /// Runs once, on memory of its own, with the kernels recorded: why that is not what was asked
  /// for, or nothing. Throws what cuDNN says no to only now, and what is broken.
  std::optional<Unsupported> prove(CudnnDevice& device, const std::string& request) {
    std::size_t need = 0;
    for (const TensorSpec& spec : arguments_) need += spec.bytes;
    if (const std::size_t free = device.memory_available(); need > free)
      throw CaseError(fmt::format(
          "needs {} on the GPU, {} of it workspace, but {} are free ({}). Use a smaller batch, or "
          "an algorithm with less workspace.",
          gib(need), gib(executed_.workspace_bytes), gib(free), request));
    std::vector<std::unique_ptr<Tensor>> tensors;
    std::vector<Tensor*> bound;
    for (const TensorSpec& spec : arguments_) {
      tensors.push_back(device.allocate(spec));
      bound.push_back(tensors.back().get());
    }
    bind(bound);
    const auto kernels = traced_kernels([&] {
      run(device.stream());
      device.stream().wait();
    });
    return judge(kernels);
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
  std::optional<Unsupported> judge(const std::optional<std::vector<std::string>>& kernels) {
    const Family asked = family_of(executed_.algorithm);
    if (!kernels) {
      // The bounds of fp32 exclude tf32, and integers that come out exactly exclude transforms: an
      // ok row proves both, while sums are not so long that the bounds are wide and no integers
      // are small enough. Of 16-bit tensors, and of which transform, errors tell too little.
      const bool shown = (precision_ == Precision::fp32 || precision_ == Precision::fp64 ||
                          precision_ == Precision::int8) &&
                         products_ < longest_shown;
      executed_.evidence = shown && asked == Family::direct ? "numerical" : "requested";
      return std::nullopt;
    }
    const Seen seen = read_kernels(*kernels);
    executed_.implementation = seen.names;
    executed_.evidence = "trace";
    if (seen.family != asked)
      return Unsupported{fmt::format("{} ran something else for {} ({})", cudnn_library(),
                                     executed_.algorithm, seen.names)};
    if (const std::string why = why_not_arithmetic(seen, precision_); !why.empty())
      return Unsupported{fmt::format("{}: {}", cudnn_library(), why)};
    // 16-bit tensors without tensor cores: the names tell not in what they were multiplied.
    if (size_of(storage(precision_)) == 2 && !seen.tensor_cores) executed_.compute = "";
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
    operation->choose(algorithm, form.math);
    if (auto refusal = operation->prove(place, request)) return std::move(*refusal);
    return operation;
  } catch (const CudnnError& error) {
    if (!not_supported(error.status)) throw;
    return Unsupported{fmt::format("{}: {}", cudnn_library(), error.words)};
  }
}

/// The library's best algorithm that keeps to the form's arithmetic.
Result<std::unique_ptr<Operation>> best(CudnnDevice& place, const ConvProblem& problem,
                                        const ConvForm& form, const std::string& request) {
  std::string why = fmt::format(
      "{} offers no algorithm in this arithmetic that fits into the "
      "memory that is free, {}",
      cudnn_library(), gib(place.memory_available()));
  const ConvCall call(place, problem, form);
  for (const ConvChoice& offer : fitting(call.offers(), form.math, place.memory_available())) {
    Result<std::unique_ptr<Operation>> made =
        settled(place, problem, form, offer.algorithm, request);
    if (!std::holds_alternative<Unsupported>(made)) return made;
    why = std::get<Unsupported>(made).reason;
  }
  return Unsupported{std::move(why)};
}

Result<std::unique_ptr<Operation>> make_conv(Device& device, const Problem& problem,
                                             const Options& options, Communicator&) {
  const ConvProblem& conv = problem_cast<ConvProblem>(problem);
  auto& place = static_cast<CudnnDevice&>(device);
  const Precision precision = conv.precision();
  const std::string wanted = options.get("algorithm", "auto");
  const std::vector<std::string>& names = conv_algorithm_names(conv.direction());
  if (wanted != "auto" && std::find(names.begin(), names.end(), wanted) == names.end())
    return Unsupported{fmt::format("cuDNN has no {} for {} (it has auto, {})", wanted,
                                   name(conv.direction()), fmt::join(names, ", "))};
  if (std::string why = why_not_precision(precision, place.facts()); !why.empty())
    return Unsupported{std::move(why)};
  Result<ConvForm> made = conv_form(conv, options.get("layout", "any"));
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
  return operation;
}

const Maker add_conv{makers(), kind_of<ConvProblem>(), &make_conv, all_conv_algorithm_names()};

}  // namespace
}  // namespace assay::cuda
