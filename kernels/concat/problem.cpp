#include "kernels/concat/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {
namespace {

/// The descriptor's field for the channels of a joined tensor: ca, cb, ….
std::string channels_field(std::size_t joined) {
  return {'c', static_cast<char>('a' + static_cast<char>(joined))};
}

}  // namespace

const NameTable<ConcatDirection>& get_name_table(ConcatDirection) {
  static const NameTable<ConcatDirection> table({"forward", "backward"}, "direction");
  return table;
}

ConcatShape parse_concat(const std::string& descriptor) {
  const DescriptorComplaint complain("concat", descriptor);
  std::vector<std::string> known{"mb", "ih", "iw"};
  for (std::size_t k = 0; k < most_joined; ++k) known.push_back(channels_field(k));
  const std::map<std::string, std::int64_t> fields =
      read_counts(descriptor, known, {"mb", "ca", "cb", "ih"}, complain);
  ConcatShape s;
  s.mb = fields.at("mb");
  s.ih = fields.at("ih");
  s.iw = fields.contains("iw") ? fields.at("iw") : s.ih;
  std::int64_t all = 0;
  for (std::size_t k = 0; k < most_joined; ++k) {
    const std::string field = channels_field(k);
    if (!fields.contains(field)) continue;
    if (k > s.channels.size())
      complain("{} is given without {}. Name tensors in order, without a gap.", field,
               channels_field(s.channels.size()));
    s.channels.push_back(fields.at(field));
    product({{"mb", s.mb},
             {field.c_str(), s.channels.back()},
             {"ih", s.ih},
             {"iw", s.iw},
             {"tensors", most_joined},
             {"element size", 8}},
            "dst in bytes", complain);
    all += s.channels.back();
  }
  product({{"mb", s.mb}, {"all channels", all}, {"ih", s.ih}, {"iw", s.iw}, {"element size", 8}},
          "dst in bytes", complain);
  return s;
}

std::string to_descriptor(const ConcatShape& s) {
  std::string text = fmt::format("mb{}", s.mb);
  for (std::size_t k = 0; k < s.channels.size(); ++k)
    text += fmt::format("{}{}", channels_field(k), s.channels[k]);
  text += fmt::format("ih{}", s.ih);
  return s.iw == s.ih ? text : fmt::format("{}iw{}", text, s.iw);
}

ConcatProblem::ConcatProblem(ConcatShape shape, ConcatDirection direction, Precision precision)
    : ShapedProblem(std::move(shape), precision), direction_(direction) {
  if (const std::size_t joined = shape_.channels.size(); joined > most_joined)
    throw InputError(fmt::format(
        "concat: {} tensors are joined, but at most {} can be. Join them in several steps.", joined,
        most_joined));
}

nlohmann::json ConcatProblem::json() const {
  nlohmann::json fields{{"mb", shape_.mb}, {"ih", shape_.ih}, {"iw", shape_.iw}};
  for (std::size_t k = 0; k < shape_.channels.size(); ++k)
    fields[channels_field(k)] = shape_.channels[k];
  return fields;
}

std::int64_t ConcatProblem::channels() const {
  return std::accumulate(shape_.channels.begin(), shape_.channels.end(), std::int64_t{0});
}

std::vector<TensorSpec> ConcatProblem::tensors() const {
  const bool forward = direction_ == ConcatDirection::forward;
  const DataType type = storage(precision_);
  const auto tensor = [&](std::string name, bool output, std::int64_t channels) {
    return plain_tensor(std::move(name), output ? Role::output : Role::input, type,
                        {shape_.mb, channels, shape_.ih, shape_.iw});
  };
  std::vector<TensorSpec> all;
  for (std::size_t k = 0; k < shape_.channels.size(); ++k)
    all.push_back(
        tensor(fmt::format("{}src{}", forward ? "" : "diff_", k), !forward, shape_.channels[k]));
  all.insert(forward ? all.end() : all.begin(),
             tensor(forward ? "dst" : "diff_dst", forward, channels()));
  return all;
}

std::optional<std::string> why_not_precision(const ConcatProblem& problem) {
  return why_not_plain(problem.precision(), "a concatenation");
}

}  // namespace assay
