#include "analysis/commands.hpp"
#include "core/numbers.hpp"

namespace assay {

std::vector<std::string> values_of(const Given& given, const std::string& flag) {
  const auto found = given.find(flag);
  return found == given.end() ? std::vector<std::string>{} : found->second;
}

std::optional<std::string> value_of(const Given& given, const std::string& flag) {
  const auto values = values_of(given, flag);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::optional<double> seconds_of(const Given& given, const std::string& flag) {
  const auto text = value_of(given, flag);
  if (!text) return std::nullopt;
  return seconds_number("--" + flag, *text);
}

std::optional<std::uint64_t> whole_of(const Given& given, const std::string& flag,
                                      std::uint64_t least, std::uint64_t most) {
  const auto text = value_of(given, flag);
  if (!text) return std::nullopt;
  return whole_number("--" + flag, *text, least, most);
}

}  // namespace assay
