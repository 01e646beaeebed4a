#include "kernels/pool/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {
namespace {

/// One dimension of a shape, as its descriptor gives it.
struct Axis {
  std::int64_t in, out, taps, step, padding;
};

/// The number of windows within the padded input: as many whole ones as fit.
std::int64_t outputs(const Axis& axis) {
  return (axis.in + 2 * axis.padding - axis.taps) / axis.step + 1;
}

Axis check_axis(Axis axis, char dimension, bool has_fields, const DescriptorComplaint& complain) {
  if (axis.padding >= axis.taps)
    complain("p{} is {} (a window of k{} = {} would lie outside of src). Use less than k{}.",
             dimension, axis.padding, dimension, axis.taps, dimension);
  if (!has_fields) {
    if (axis.in + 2 * axis.padding < axis.taps)
      complain("k{} is {} (larger than src with its padding). Use at most {}.", dimension,
               axis.taps, axis.in + 2 * axis.padding);
    axis.out = outputs(axis);
  }
  if ((axis.out - 1) * axis.step - axis.padding >= axis.in)
    complain("o{} is {} (its last window would lie outside of src). Use at most {}.", dimension,
             axis.out, (axis.in + axis.padding - 1) / axis.step + 1);
  return axis;
}

}  // namespace

const NameTable<PoolDirection>& get_name_table(PoolDirection) {
  static const NameTable<PoolDirection> table({"forward_training", "forward_inference", "backward"},
                                              "direction");
  return table;
}
const NameTable<PoolMode>& get_name_table(PoolMode) {
  static const NameTable<PoolMode> table({"max", "average"}, "mode");
  return table;
}

PoolShape parse_pool(const std::string& descriptor) {
  const DescriptorComplaint complain("pool", descriptor);
  const std::map<std::string, std::int64_t> fields = read_counts(
      descriptor, {"mb", "ic", "ih", "iw", "oh", "ow", "kh", "kw", "sh", "sw", "ph", "pw"},
      {"mb", "ic", "ih", "kh"}, complain, {"ph", "pw"});
  const auto value = [&](const char* name, std::int64_t otherwise) {
    const auto entry = fields.find(name);
    return entry == fields.end() ? otherwise : entry->second;
  };
  PoolShape s;
  s.mb = value("mb", 0);
  s.ic = value("ic", 0);
  s.ih = value("ih", 0);
  s.kh = value("kh", 0);
  s.sh = value("sh", 1);
  s.ph = value("ph", 0);
  const Axis h =
      check_axis({s.ih, value("oh", 0), s.kh, s.sh, s.ph}, 'h', fields.contains("oh"), complain);
  s.oh = h.out;
  s.iw = value("iw", s.ih);
  s.kw = value("kw", s.kh);
  s.sw = value("sw", s.sh);
  s.pw = value("pw", s.ph);
  const bool square = s.iw == s.ih && s.kw == s.kh && s.sw == s.sh && s.pw == s.ph;
  const Axis w = check_axis({s.iw, value("ow", square ? s.oh : 0), s.kw, s.sw, s.pw}, 'w',
                            fields.contains("ow") || square, complain);
  s.ow = w.out;
  for (const auto& [in_h, in_w] : {std::pair{s.ih, s.iw}, std::pair{s.oh, s.ow}})
    product({{"mb", s.mb}, {"ic", s.ic}, {"height", in_h}, {"width", in_w}, {"element size", 8}},
            "a tensor in bytes", complain);
  return s;
}

std::string to_descriptor(const PoolShape& s) {
  const auto side = [](char d, std::int64_t in, const Axis& axis) {
    std::string text = fmt::format("i{}{}", d, in);
    if (axis.out != outputs(axis)) text += fmt::format("o{}{}", d, axis.out);
    text += fmt::format("k{}{}", d, axis.taps);
    if (axis.step != 1) text += fmt::format("s{}{}", d, axis.step);
    if (axis.padding != 0) text += fmt::format("p{}{}", d, axis.padding);
    return text;
  };
  const std::string height = side('h', s.ih, {s.ih, s.oh, s.kh, s.sh, s.ph});
  std::string text = fmt::format("mb{}ic{}{}", s.mb, s.ic, height);
  if (s.iw == s.ih && s.kw == s.kh && s.sw == s.sh && s.pw == s.ph && s.ow == s.oh) return text;
  // The width has all of its fields, because a missing one would be derived from the height.
  text += fmt::format("iw{}ow{}kw{}sw{}", s.iw, s.ow, s.kw, s.sw);
  if (s.pw != s.ph) text += fmt::format("pw{}", s.pw);
  return text;
}

nlohmann::json PoolProblem::json() const {
  const PoolShape& s = shape_;
  return {{"mb", s.mb}, {"ic", s.ic}, {"ih", s.ih}, {"iw", s.iw}, {"oh", s.oh}, {"ow", s.ow},
          {"kh", s.kh}, {"kw", s.kw}, {"sh", s.sh}, {"sw", s.sw}, {"ph", s.ph}, {"pw", s.pw}};
}

std::vector<TensorSpec> PoolProblem::tensors() const {
  const PoolShape& s = shape_;
  const DataType type = storage(precision_);
  const std::vector<std::int64_t> in{s.mb, s.ic, s.ih, s.iw}, out{s.mb, s.ic, s.oh, s.ow};
  if (direction_ != PoolDirection::backward)
    return {plain_tensor("src", Role::input, type, in),
            plain_tensor("dst", Role::output, type, out)};
  std::vector<TensorSpec> all;
  if (mode_ == PoolMode::max) all.push_back(plain_tensor("src", Role::input, type, in));
  all.push_back(plain_tensor("diff_dst", Role::input, type, out));
  all.push_back(plain_tensor("diff_src", Role::output, type, in));
  return all;
}

std::optional<std::string> why_not_precision(const PoolProblem& problem) {
  return why_not_stored_alike(problem.precision(), "pooling");
}

}  // namespace assay
