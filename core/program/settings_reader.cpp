#include "core/program/settings_reader.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"

namespace assay {
namespace {

std::string flag(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace

std::uint64_t SettingsReader::read_whole(const std::string& name, std::uint64_t least,
                                         std::uint64_t most) {
  std::string& text = settings_.at(name);
  const std::uint64_t number = whole_number(flag(name), text, least, most);
  text = std::to_string(number);
  return number;
}

void SettingsReader::number(const std::string& name, double& value, double least, double most) {
  std::string& text = settings_.at(name);
  value = number_between(flag(name), text, least, most);
  text = fmt::format("{}", value);
}

void SettingsReader::positive(const std::string& name, double& value, const std::string& what,
                              double most) {
  std::string& text = settings_.at(name);
  value = positive_number(flag(name), text, what, most);
  text = fmt::format("{}", value);
}

}  // namespace assay
