#include "kernels/resize/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {
namespace {

/// Positions on an axis are quotients of integers with a few bits more than its extent.
constexpr std::int64_t longest_axis = std::int64_t{1} << 24;

}  // namespace

const NameTable<ResizeDirection>& get_name_table(ResizeDirection) {
  static const NameTable<ResizeDirection> table({"forward", "backward"}, "direction");
  return table;
}
const NameTable<ResizeCoordinates>& get_name_table(ResizeCoordinates) {
  static const NameTable<ResizeCoordinates> table({"half_pixel", "aligned"}, "coordinates");
  return table;
}

ResizeShape parse_resize(const std::string& descriptor) {
  const DescriptorComplaint complain("resize", descriptor);
  const std::map<std::string, std::int64_t> fields = read_counts(
      descriptor, {"mb", "ic", "ih", "iw", "oh", "ow"}, {"mb", "ic", "ih", "oh"}, complain);
  for (const char* extent : {"ih", "iw", "oh", "ow"})
    if (fields.contains(extent) && fields.at(extent) > longest_axis)
      complain("{} is {} (too many). Use at most {}.", extent, fields.at(extent), longest_axis);
  ResizeShape s{fields.at("mb"), fields.at("ic"), fields.at("ih"),
                fields.at("ih"), fields.at("oh"), fields.at("oh")};
  if (fields.contains("iw")) s.iw = fields.at("iw");
  if (fields.contains("ow")) s.ow = fields.at("ow");
  for (const auto& [height, width] : {std::pair{s.ih, s.iw}, std::pair{s.oh, s.ow}})
    product({{"mb", s.mb}, {"ic", s.ic}, {"height", height}, {"width", width}, {"element size", 8}},
            "a tensor in bytes", complain);
  return s;
}

std::string to_descriptor(const ResizeShape& s) {
  std::string text = fmt::format("mb{}ic{}ih{}", s.mb, s.ic, s.ih);
  if (s.iw != s.ih) text += fmt::format("iw{}", s.iw);
  text += fmt::format("oh{}", s.oh);
  return s.ow == s.oh ? text : fmt::format("{}ow{}", text, s.ow);
}

nlohmann::json ResizeProblem::json() const {
  const ResizeShape& s = shape_;
  return {{"mb", s.mb}, {"ic", s.ic}, {"ih", s.ih}, {"iw", s.iw}, {"oh", s.oh}, {"ow", s.ow}};
}

std::vector<TensorSpec> ResizeProblem::tensors() const {
  const ResizeShape& s = shape_;
  const DataType type = storage(precision_);
  const std::vector<std::int64_t> in{s.mb, s.ic, s.ih, s.iw}, out{s.mb, s.ic, s.oh, s.ow};
  if (direction_ == ResizeDirection::forward)
    return {plain_tensor("src", Role::input, type, in),
            plain_tensor("dst", Role::output, type, out)};
  return {plain_tensor("diff_dst", Role::input, type, out),
          plain_tensor("diff_src", Role::output, type, in)};
}

std::optional<std::string> why_not_precision(const ResizeProblem& problem) {
  return why_not_plain(problem.precision(), "resizing");
}

}  // namespace assay
