#include "core/program/given.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"

namespace assay {

std::vector<std::string> values_of(const Given& given, const std::string& flag) {
  const auto entry = given.find(flag);
  return entry == given.end() ? std::vector<std::string>{} : entry->second;
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

std::string choice_of(const Given& given, const std::string& flag,
                      const std::vector<std::string>& valid) {
  const std::string value = value_of(given, flag).value_or(valid.front());
  if (std::find(valid.begin(), valid.end(), value) == valid.end())
    throw InputError(unknown_name("--" + flag, value, valid));
  return value;
}

std::optional<double> number_of(const Given& given, const std::string& flag, double least,
                                double most) {
  const auto text = value_of(given, flag);
  if (!text) return std::nullopt;
  return number_between("--" + flag, *text, least, most);
}

std::string command_line(const std::string& command, const std::vector<std::string>& positional,
                         const Given& given) {
  std::string line = command;
  for (const std::string& name : positional) line += " " + value_of(given, name).value_or("");
  for (const auto& [flag, values] : given) {
    if (std::find(positional.begin(), positional.end(), flag) != positional.end()) continue;
    for (const std::string& value : values)
      line += fmt::format(" --{}{}{}", flag, value.empty() ? "" : " ", value);
  }
  return line;
}

void check_outputs(const Given& given, const std::vector<std::string>& flags,
                   const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, std::filesystem::path>> outputs;
  for (const std::string& flag : flags)
    if (const auto file = value_of(given, flag)) outputs.emplace_back("--" + flag, *file);
  for (const auto& [flag, file] : outputs) check_output(flag, file, inputs);
  check_outputs_differ(outputs);
}

void refuse_flags(const Given& given, const std::vector<std::string>& flags,
                  const std::string& other, const std::string& why) {
  for (const std::string& flag : flags)
    if (given.contains(flag))
      throw InputError(fmt::format("--{} cannot be used with {} ({}). Leave one of them out.", flag,
                                   other, why));
}

void emit(const Given& given, const std::string& text) {
  if (const auto file = value_of(given, "out"))
    write_text(*file, text);
  else
    std::cout << text << std::flush;
}

}  // namespace assay
