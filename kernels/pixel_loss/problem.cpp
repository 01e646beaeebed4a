#include "kernels/pixel_loss/problem.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {

const std::string& name(PixelLossPass pass) {
  static const std::array<std::string, 2> names{"training", "validation"};
  return names.at(static_cast<std::size_t>(pass));
}

PixelLossProblem::PixelLossProblem(const PixelLossShape& shape, PixelLossPass pass,
                                   Precision precision)
    : ShapedProblem(shape, precision), pass_(pass) {
  constexpr std::int64_t most_classes = 64, most_pixels = (std::int64_t{1} << 31) - 1;
  const auto [samples, classes, ih, iw] = shape;
  if (samples < 1 || classes < 1 || ih < 1 || iw < 1 || classes > most_classes ||
      samples > most_pixels / ih / iw)
    throw InputError(
        fmt::format("a loss of {} images of {}x{} pixels and {} classes is impossible. Use 1 or "
                    "more of each, at most {} classes, and fewer than 2^31 pixels.",
                    samples, ih, iw, classes, most_classes));
}

std::string PixelLossProblem::canonical() const {
  return fmt::format("mb{}c{}ih{}iw{}", shape_.samples, shape_.classes, shape_.ih, shape_.iw);
}

nlohmann::json PixelLossProblem::json() const {
  return {{"samples", shape_.samples},
          {"classes", shape_.classes},
          {"ih", shape_.ih},
          {"iw", shape_.iw}};
}

std::vector<TensorSpec> PixelLossProblem::tensors() const {
  const DataType type = storage(precision_),
                 wide = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const auto [samples, classes, ih, iw] = shape_;
  const bool training = pass_ == PixelLossPass::training;
  std::vector<TensorSpec> all{plain_tensor("logits", Role::input, type, {samples, classes, ih, iw}),
                              plain_tensor("labels", Role::input, DataType::s32, {samples, ih, iw}),
                              plain_tensor("class_weights", Role::input, wide, {classes})};
  if (training) all.push_back(plain_tensor("scale", Role::input, wide, {1}));
  all.push_back(plain_tensor("losses", Role::output, wide, {samples}));
  all.push_back(
      plain_tensor("confusion", Role::output, DataType::s32, {samples, classes, classes}));
  if (training)
    all.push_back(plain_tensor("diff_logits", Role::output, type, {samples, classes, ih, iw}));
  return all;
}

std::optional<std::string> why_not_precision(const PixelLossProblem& problem) {
  return why_not_plain(problem.precision(), "a loss",
                       "it stores logits in fp64, fp32, bf16 or fp16");
}

}  // namespace assay
