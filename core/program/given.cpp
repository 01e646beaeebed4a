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

std::vector<std::string> read_values(const Arguments& arguments, const std::string& flag) {
  const auto entry = arguments.find(flag);
  return entry == arguments.end() ? std::vector<std::string>{} : entry->second;
}

std::optional<std::string> read_value(const Arguments& arguments, const std::string& flag) {
  const auto values = read_values(arguments, flag);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::optional<double> read_seconds(const Arguments& arguments, const std::string& flag) {
  const auto text = read_value(arguments, flag);
  if (!text) return std::nullopt;
  return seconds_number("--" + flag, *text);
}

std::optional<std::uint64_t> read_whole_number(const Arguments& arguments, const std::string& flag,
                                               std::uint64_t least, std::uint64_t most) {
  const auto text = read_value(arguments, flag);
  if (!text) return std::nullopt;
  return whole_number("--" + flag, *text, least, most);
}

std::string read_choice(const Arguments& arguments, const std::string& flag,
                        const std::vector<std::string>& valid) {
  const std::string value = read_value(arguments, flag).value_or(valid.front());
  if (std::find(valid.begin(), valid.end(), value) == valid.end())
    throw InputError(explain_unknown_name("--" + flag, value, valid));
  return value;
}

std::optional<double> read_number(const Arguments& arguments, const std::string& flag, double least,
                                  double most) {
  const auto text = read_value(arguments, flag);
  if (!text) return std::nullopt;
  return number_between("--" + flag, *text, least, most);
}

std::string command_line(const std::string& command, const std::vector<std::string>& positional,
                         const Arguments& arguments) {
  std::string line = command;
  for (const std::string& name : positional) line += " " + read_value(arguments, name).value_or("");
  for (const auto& [flag, values] : arguments) {
    if (std::find(positional.begin(), positional.end(), flag) != positional.end()) continue;
    for (const std::string& value : values)
      line += fmt::format(" --{}{}{}", flag, value.empty() ? "" : " ", value);
  }
  return line;
}

void check_outputs(const Arguments& arguments, const std::vector<std::string>& flags,
                   const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, std::filesystem::path>> outputs;
  for (const std::string& flag : flags)
    if (const auto file = read_value(arguments, flag)) outputs.emplace_back("--" + flag, *file);
  for (const auto& [flag, file] : outputs) check_output(flag, file, inputs);
  check_outputs_differ(outputs);
}

void refuse_flags(const Arguments& arguments, const std::vector<std::string>& flags,
                  const std::string& other, const std::string& why) {
  for (const std::string& flag : flags)
    if (arguments.contains(flag))
      throw InputError(fmt::format("--{} cannot be used with {} ({}). Leave one of them out.", flag,
                                   other, why));
}

void emit(const Arguments& arguments, const std::string& text) {
  if (const auto file = read_value(arguments, "out"))
    write_text(*file, text);
  else
    std::cout << text << std::flush;
}

}  // namespace assay
