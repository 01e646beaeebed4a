// Convolutions by cuDNN.

#include "kernels/conv/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/conv_algorithms.hpp"
#include "kernels/cuda/conv_choice.hpp"
#include "kernels/cuda/conv_plain_weights.hpp"
#include "kernels/cuda/conv_plans.hpp"
#include "kernels/cuda/conv_wide_inputs.hpp"
#include "kernels/norm/given_sums.hpp"

namespace assay::cuda {
namespace {

/// The graphs among which `auto` chooses. Transforms are left out for 16-bit operands and tf32,
/// because they round these once more.
std::vector<std::string> graphs_of_auto(Precision precision) {
  if (precision == Precision::int8) return {};
  if (precision == Precision::fp32 || precision == Precision::fp64) return list_conv_plan_names();
  return {list_conv_plan_names().front()};
}

/// A null operation if the GPUs of all ranks support the precision; otherwise the reason.
OperationResult precision_on_all(CudnnDevice& place, Precision precision, Communicator& ranks) {
  return on_all(ranks, [&]() -> OperationResult {
    if (std::string why = why_not_precision(precision, place.facts()); !why.empty())
      return Unsupported{std::move(why)};
    return std::unique_ptr<Operation>();
  });
}

/// Makes a convolution whose tensors all have one type, as cuDNN computes them. All ranks get the
/// same outcome.
OperationResult make_uniform(CudnnDevice& place, const ConvProblem& conv, const Options& options,
                             Communicator& ranks) {
  const Precision precision = conv.precision();
  const std::string wanted = options.get("algorithm", "auto");
  const std::vector<std::string>& names = list_algorithm_names(conv.direction());
  const bool graph =
      std::ranges::find(list_conv_plan_names(), wanted) != list_conv_plan_names().end();
  const auto position = std::ranges::find(names, wanted);
  if (wanted != "auto" && !graph && position == names.end())
    return Unsupported{fmt::format("cuDNN has no {} for {} (it has auto, {}, {})", wanted,
                                   name(conv.direction()), fmt::join(names, ", "),
                                   fmt::join(list_conv_plan_names(), ", "))};
  if (graph && precision == Precision::int8)
    return Unsupported{"cuda has int8 by cuDNN's older interface alone. Use auto."};
  if (OperationResult has = precision_on_all(place, precision, ranks);
      std::holds_alternative<Unsupported>(has))
    return has;
  const std::string layout = options.get("layout", "any");
  const bool plain_weights = layout == plain_weights_layout;
  if (plain_weights && precision == Precision::int8)
    return Unsupported{fmt::format("cuda has no int8 in {}. Use nhwc.", layout)};
  Result<ConvForm> made_form = conv_form(conv, plain_weights ? "nhwc" : layout);
  if (auto* refusal = std::get_if<Unsupported>(&made_form)) return std::move(*refusal);
  const ConvForm& form = std::get<ConvForm>(made_form);
  const ConvRequest conv_request{place,
                                 conv,
                                 form,
                                 wanted,
                                 fmt::format("{}, {}, {}, {}", name(conv.direction()),
                                             name(precision), form.layout, conv.canonical()),
                                 ranks};
  OperationResult operation =
      wanted == "auto" ? choose_best(conv_request, true, graphs_of_auto(precision))
      : graph          ? choose_best(conv_request, false, {wanted})
                       : on_all(ranks, [&] {
                  return by_algorithm(conv_request, static_cast<int>(position - names.begin()));
                });
  if (const auto* refusal = std::get_if<Unsupported>(&operation))
    return Unsupported{fmt::format("{} ({})", refusal->reason, conv_request.text())};
  if (!plain_weights) return operation;
  return with_plain_weights(conv, std::move(std::get<std::unique_ptr<Operation>>(operation)));
}

/// Computes from widened inputs. tf32 holds all digits of 16-bit numbers, so their products are
/// exact in it, but the results of a transform are not.
OperationResult make_mixed(CudnnDevice& place, const ConvProblem& conv, const Options& options,
                           Communicator& ranks) {
  if (OperationResult has = precision_on_all(place, format(conv.precision()).arithmetic, ranks);
      std::holds_alternative<Unsupported>(has))
    return has;
  std::vector<std::string> names{options.get("algorithm", "auto")};
  if (names.front() == "auto") {
    names.push_back(list_conv_plan_names().front());
    std::ranges::copy_if(
        list_algorithm_names(conv.direction()), std::back_inserter(names),
        [](const std::string& name) { return find_family(name) == Family::direct; });
  }
  std::string why;
  for (const Precision units : {Precision::tf32, Precision::fp32})
    for (const std::string& algorithm : names) {
      Options of_wide = options;
      of_wide.settings["algorithm"] = algorithm;
      const ConvProblem wide(conv.shape(), conv.direction(), units);
      OperationResult result = make_uniform(place, wide, of_wide, ranks);
      if (auto* refusal = std::get_if<Unsupported>(&result)) {
        why = std::move(refusal->reason);
        continue;
      }
      std::unique_ptr<Operation>& operation = std::get<std::unique_ptr<Operation>>(result);
      if (units == Precision::fp32 ||
          find_family(operation->execution().algorithm) == Family::direct)
        return with_wide_inputs(conv, std::move(operation));
    }
  return Unsupported{std::move(why)};
}

/// In training it also computes the sums of a normalization.
OperationResult make_summed(CudnnDevice& place, const ConvProblem& conv, const Options& options,
                            Communicator& ranks) {
  const Precision precision = conv.precision();
  const std::string graph = list_conv_plan_names().front();
  if (options.get("algorithm", "auto") != "auto")
    return Unsupported{fmt::format("cuda sums beside a convolution by {} alone. Use auto.", graph)};
  if (conv.direction() != ConvDirection::forward || conv.tensors().back().dims.size() != 4 ||
      (precision != Precision::tf32 && precision != Precision::bf16 &&
       precision != Precision::fp16))
    return Unsupported{fmt::format(
        "cuda sums beside a forward convolution of planes in tf32, bf16 or fp16, not {} in {}",
        name(conv.direction()), name(precision))};
  if (OperationResult has = precision_on_all(place, precision, ranks);
      std::holds_alternative<Unsupported>(has))
    return has;
  const std::string layout = options.get("layout", "any");
  Result<ConvForm> plain = layout == "nchw"
                               ? Unsupported{"cuda sums beside a convolution in nhwc, not in nchw"}
                               : conv_form(conv, "nhwc");
  if (auto* refusal = std::get_if<Unsupported>(&plain)) return std::move(*refusal);
  const ConvForm form = add_sums(std::move(std::get<ConvForm>(plain)));
  const ConvRequest conv_request{
      place, conv, form, graph, fmt::format("and sums {}, {}", name(precision), conv.canonical()),
      ranks};
  OperationResult best = choose_best(conv_request, false, {graph});
  if (const auto* const refusal = std::get_if<Unsupported>(&best))
    return Unsupported{fmt::format("{} ({})", refusal->reason, conv_request.text())};
  return best;
}

OperationResult make_conv(Device& device, const Problem& problem, const Options& options,
                          Communicator& ranks) {
  const ConvProblem& conv = problem_cast<ConvProblem>(problem);
  auto& place = static_cast<CudnnDevice&>(device);
  if (const auto why = why_not_precision(conv)) return Unsupported{*why};
  return on_all(ranks, [&] {
    return !options.get(norm_sums, "").empty() ? make_summed(place, conv, options, ranks)
           : is_mixed(conv.precision())        ? make_mixed(place, conv, options, ranks)
                                               : make_uniform(place, conv, options, ranks);
  });
}

std::vector<std::string> all_names() {
  std::vector<std::string> all = list_all_conv_algorithm_names();
  std::ranges::copy(list_conv_plan_names(), std::back_inserter(all));
  return all;
}

const Maker add_conv{makers(), problem_kind<ConvProblem>(), &make_conv, all_names()};

}  // namespace
}  // namespace assay::cuda
