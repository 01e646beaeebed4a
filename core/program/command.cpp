#include "core/program/command.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

std::string Flag::text() const {
  std::string text = help;
  if (!choices.empty()) text += " (" + join(choices, ", ") + ")";
  if (!otherwise.empty()) text += " (default: " + otherwise + ")";
  return text;
}

std::vector<std::string> Flag::names() const {
  if (positional()) return {};
  // Letters have the same meaning in every program.
  static const std::map<std::string, std::string> letters{
      {"--out", "-o"}, {"--quiet", "-q"}, {"--verbose", "-v"}};
  std::vector<std::string> all;
  if (const auto letter = letters.find(name); letter != letters.end())
    all.push_back(letter->second);
  all.push_back(name);
  all.insert(all.end(), aliases.begin(), aliases.end());
  return all;
}

std::vector<Flag> group_flags(
    const std::vector<std::pair<std::string, std::vector<Flag>>>& flags_by_group) {
  std::vector<Flag> all;
  for (const auto& [group, flags] : flags_by_group)
    for (Flag flag : flags) {
      flag.group = group;
      all.push_back(std::move(flag));
    }
  return all;
}

Flag quiet_flag() {
  return {"--quiet", "print no progress; rows that failed or are incorrect are still reported"};
}

Flag verbose_flag() {
  return {"--verbose", "also report on stderr what is started and how each row was measured"};
}

Flag format_flag(const std::vector<std::string>& choices) {
  return {"--format", "format of the output", "FORMAT", choices.front(), false,
          false,      output_group,           choices};
}

Flag out_flag() {
  return {"--out", "write to this file", "FILE", "stdout", false, false, output_group};
}

Verbosity read_verbosity(const Arguments& arguments) {
  const bool quiet = arguments.contains("quiet"), verbose = arguments.contains("verbose");
  if (quiet && verbose)
    throw InputError(
        "--quiet and --verbose exclude each other (one prints less, one more). "
        "Give one of them.");
  return quiet ? Verbosity::quiet : verbose ? Verbosity::verbose : Verbosity::normal;
}

}  // namespace assay
