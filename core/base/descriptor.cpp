#include "core/base/descriptor.hpp"

#include <algorithm>
#include <charconv>

#include "core/base/text.hpp"

namespace assay {

std::int64_t read_count(const char*& at, const char* end, const std::string& field,
                        std::int64_t least, const DescriptorComplaint& complain) {
  if (at != end && *at == '-')
    complain("{} is negative (it is an extent or a count). Give {} >= {}.", field, field, least);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(at, end, value);
  if (error == std::errc::invalid_argument)
    complain("{} has no number. Give for example {}{}.", field, field, least + 63);
  if (error == std::errc::result_out_of_range)
    complain("{} does not fit 64 bits ({}). Give a smaller number.", field, std::string(at, stop));
  if (value < least)
    complain("{} is {} (the least is {}). Give {} >= {}.", field, value, least, field, least);
  at = stop;
  return value;
}

std::map<std::string, std::int64_t> read_counts(const std::string& text,
                                                const std::vector<std::string>& known,
                                                const std::vector<std::string>& required,
                                                const DescriptorComplaint& complain,
                                                const std::vector<std::string>& may_be_zero) {
  std::map<std::string, std::int64_t> counts;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == '_') {
      ++at;
      continue;
    }
    const char* const letters = at;
    while (at != end && *at >= 'a' && *at <= 'z') ++at;
    const std::string field(letters, at);
    if (field.empty())
      complain("unexpected '{}' at position {} (a field such as {}64 was expected). Remove it.",
               *at, at - text.data() + 1, known.front());
    if (std::find(known.begin(), known.end(), field) == known.end())
      complain("{}", explain_unknown_name("field", field, known));
    const bool zero = std::find(may_be_zero.begin(), may_be_zero.end(), field) != may_be_zero.end();
    if (!counts.emplace(field, read_count(at, end, field, zero ? 0 : 1, complain)).second)
      complain("{} is given twice. Give it once.", field);
  }
  for (const std::string& field : required)
    if (!counts.contains(field)) complain("{} is missing. Give for example {}64.", field, field);
  return counts;
}

std::int64_t product(std::initializer_list<std::pair<const char*, std::int64_t>> factors,
                     const char* what, const DescriptorComplaint& complain) {
  std::int64_t value = 1;
  for (const auto& [name, factor] : factors)
    if (__builtin_mul_overflow(value, factor, &value))
      complain("{} does not fit 64 bits (reached at {} = {}). Give smaller extents.", what, name,
               factor);
  return value;
}

}  // namespace assay
