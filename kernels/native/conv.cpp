// The native backend's convolutions: the choice of the algorithm, and the reasons why one is
// unsupported.

#include "kernels/conv/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/native/backend.hpp"
#include "kernels/native/conv_parts.hpp"

namespace assay::native {
namespace {

struct Algorithm {
  const char* name;
  int tile;     ///< tile of Winograd; 0: implicit GEMM
  bool narrow;  ///< transformed operands are stored in the tensors' 16 bits
};
constexpr std::array algorithms{
    Algorithm{"implicit_gemm", 0, false},     Algorithm{"winograd", 4, false},
    Algorithm{"winograd_2x2", 2, false},      Algorithm{"winograd_4x4", 4, false},
    Algorithm{"winograd_2x2_16bit", 2, true}, Algorithm{"winograd_4x4_16bit", 4, true}};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Algorithm& algorithm : algorithms) all.emplace_back(algorithm.name);
  return all;
}

/// Winograd, if it supports the problem and there are enough channels for its savings in products
/// to outweigh its transforms.
std::string best_for(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  return why_not_winograd(problem).empty() && std::min(s.ic, s.oc) >= 2 * channel_block
             ? "winograd"
             : "implicit_gemm";
}

std::string why_not(const ConvProblem& problem) {
  const ConvShape& s = problem.shape();
  const Precision precision = problem.precision();
  if (const auto none = why_not_precision(problem)) return *none;
  const DataType type = storage(precision);
  if (precision == Precision::tf32 ||
      (type != DataType::fp32 && type != DataType::bf16 && type != DataType::fp16))
    return fmt::format(
        "native has no {} convolution (it computes in fp32, on fp32, bf16 or fp16 tensors). Use "
        "one of these.",
        name(precision));
  if (problem.tensors()[0].dims.size() != 4)
    return fmt::format(
        "native has no convolution with depth ({}; it has two spatial dimensions). Use another "
        "backend.",
        to_descriptor(s));
  return "";
}

Result<std::unique_ptr<Operation>> make_conv(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const ConvProblem& conv = problem_cast<ConvProblem>(problem);
  const ConvShape& s = conv.shape();
  const std::string choice = options.get("algorithm", "auto");
  const std::string algorithm = choice == "auto" ? best_for(conv) : choice;
  const std::string layout = options.get("layout", "any");
  const auto place = std::ranges::find(algorithms, algorithm, &Algorithm::name);
  if (place == algorithms.end())
    return Unsupported{
        fmt::format("native has no {} convolution (its algorithms are {}). Use one of these.",
                    algorithm, fmt::join(names(), ", "))};
  if (layout != "any" && layout != "nhwc" && layout != plain_weights_layout)
    return Unsupported{fmt::format(
        "native has no layout {} (channels are its innermost dimension). Use any, nhwc or {}.",
        layout, plain_weights_layout)};
  if (const std::string why = why_not(conv); !why.empty()) return Unsupported{why};
  // A block of 16 channels must not belong to two groups.
  const bool whole_blocks =
      s.g == 1 || (s.ic / s.g % channel_block == 0 && s.oc / s.g % channel_block == 0);
  const Request request{conv, layout == "any" && whole_blocks, std::max(1, options.threads)};
  Result<std::unique_ptr<Operation>> operation =
      place->tile > 0 ? make_winograd(request, place->tile, place->narrow)
      : conv.direction() == ConvDirection::bwd_weights ? make_implicit_gemm_weights(request)
                                                       : make_implicit_gemm(request);
  if (layout != plain_weights_layout || std::holds_alternative<Unsupported>(operation))
    return operation;
  return on_plain_weights(std::move(std::get<std::unique_ptr<Operation>>(operation)), request);
}

const Maker add_conv{makers(), problem_kind<ConvProblem>(), &make_conv, names()};

}  // namespace
}  // namespace assay::native
