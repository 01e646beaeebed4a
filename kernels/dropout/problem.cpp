#include "kernels/dropout/problem.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {
namespace {

/// Removes the field p from a descriptor and returns it. All other fields are whole numbers.
double take_probability(std::string& text, const DescriptorComplaint& complain) {
  const std::size_t at = text.find('p');
  if (at == std::string::npos) return DropoutShape{}.p;
  const char *const first = text.data() + at + 1, *const last = text.data() + text.size();
  double p = -1;
  const auto [end, error] = std::from_chars(first, last, p);
  if (error != std::errc() || !(p >= 0 && p <= largest_dropout))
    complain("p is not a probability from 0 to {}. Give for example p0.5.", largest_dropout);
  text.replace(at, static_cast<std::size_t>(end - first) + 1, "_");
  if (text.find('p') != std::string::npos) complain("p is given twice. Give it once.");
  return p + 0.0;  // -0 is 0
}

}  // namespace

const NameTable<DropoutDirection>& get_name_table(DropoutDirection) {
  static const NameTable<DropoutDirection> table({"forward", "backward"}, "direction");
  return table;
}

DropoutShape parse_dropout(const std::string& descriptor) {
  const DescriptorComplaint complain("dropout", descriptor);
  std::string counts = descriptor;
  DropoutShape s;
  s.p = take_probability(counts, complain);
  std::map<std::string, std::int64_t> fields =
      read_counts(counts, {"mb", "ic", "ih", "iw", "k"}, {"mb", "ic"}, complain, {"k"});
  fields.emplace("ih", 1);
  s.mb = fields["mb"];
  s.ic = fields["ic"];
  s.ih = fields["ih"];
  s.iw = fields.emplace("iw", s.ih).first->second;
  s.key = fields["k"];
  product({{"mb", s.mb}, {"ic", s.ic}, {"ih", s.ih}, {"iw", s.iw}, {"element size", 8}},
          "src in bytes", complain);
  return s;
}

std::string to_descriptor(const DropoutShape& s) {
  std::string text = fmt::format("mb{}ic{}", s.mb, s.ic);
  if (s.ih != 1 || s.iw != 1) text += fmt::format("ih{}", s.ih);
  if (s.iw != s.ih) text += fmt::format("iw{}", s.iw);
  text += fmt::format("p{}", s.p);
  if (s.key != 0) text += fmt::format("k{}", s.key);
  return text;
}

nlohmann::json DropoutProblem::json() const {
  const DropoutShape& s = shape_;
  return {{"mb", s.mb}, {"ic", s.ic}, {"ih", s.ih}, {"iw", s.iw}, {"p", s.p}, {"key", s.key}};
}

std::vector<TensorSpec> DropoutProblem::tensors() const {
  const bool backward = direction_ == DropoutDirection::backward;
  const std::vector<std::int64_t> dims{shape_.mb, shape_.ic, shape_.ih, shape_.iw};
  const DataType type = storage(precision_);
  return {plain_tensor(backward ? "diff_dst" : "src", Role::input, type, dims),
          plain_tensor("counter", Role::input, DataType::s32, {1}),
          plain_tensor(backward ? "diff_src" : "dst", Role::output, type, dims)};
}

DropoutMask dropout_mask(const DropoutProblem& problem, std::int32_t counter) {
  const DropoutShape& s = problem.shape();
  const auto key = static_cast<std::uint64_t>(s.key);
  DropoutMask mask;
  mask.key[0] = static_cast<std::uint32_t>(key);
  mask.key[1] = static_cast<std::uint32_t>(key >> 32);
  mask.step = static_cast<std::uint32_t>(counter);
  mask.least = static_cast<std::uint32_t>(std::llround(s.p * 0x1p32));
  mask.scale = 1 / (1 - s.p);
  if (problem.precision() != Precision::fp64)
    mask.scale = static_cast<double>(static_cast<float>(mask.scale));
  return mask;
}

std::optional<std::string> why_not_precision(const DropoutProblem& problem) {
  return why_not_plain(problem.precision(), "dropout");
}

}  // namespace assay
