#pragma once
// A command line as data: flags, examples, exit codes. options.cpp parses it and prints --help;
// manual.cpp makes man pages and shell completions from it.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace assay {

struct Flag {
  std::string name;  ///< "--out", or "FILE" for a positional argument
  std::string help;
  std::string value{};      ///< name of its value in --help ("DIR"); empty: a switch
  std::string otherwise{};  ///< default, shown in --help
  bool required = false;
  bool many = false;                   ///< takes several values, separated by commas or repeated
  std::string group{};                 ///< heading in --help; empty: "Options"
  std::vector<std::string> choices{};  ///< values that the shell completes; empty: names of files
  std::vector<std::string> aliases{};  ///< further names ("--bytes")

  bool positional() const { return !name.starts_with("--"); }
  bool is_switch() const { return value.empty() && !positional(); }
  /// The help with choices and default: "storage of the tensors (fp32, bf16) (default: fp32)".
  std::string text() const;
  /// All names, the short one first: {"-o", "--out"}; empty for a positional argument.
  std::vector<std::string> names() const;
};

/// The flags of several headings, in this order.
std::vector<Flag> group_flags(
    const std::vector<std::pair<std::string, std::vector<Flag>>>& flags_by_group);

/// A command line that works as printed, and its explanation.
struct Example {
  std::string line, meaning;
};

/// The given values by name of flag, without dashes. A switch has one empty value.
using Arguments = std::map<std::string, std::vector<std::string>>;

/// A program, or a subcommand of `assay`.
struct Command {
  std::string name;
  std::string help;  ///< lists of commands show its first line alone
  std::vector<Flag> flags;
  std::function<int(const Arguments&)> run{};
  std::vector<Example> examples{};
  std::string exit_codes{};
  std::string group{};  ///< heading in the list of commands; empty: "Subcommands"
};

/// The group of commands that people need not call.
inline constexpr const char* internal_group = "Used by other commands";

/// Flags that several programs share.
inline constexpr const char* output_group = "Output";
Flag quiet_flag();
Flag verbose_flag();
/// --format with these choices; the first one is the default.
Flag format_flag(const std::vector<std::string>& choices);
Flag out_flag();
/// The amount of output, chosen by -q and -v. InputError if both are given.
enum class Verbosity { quiet, normal, verbose };
Verbosity read_verbosity(const Arguments& arguments);

}  // namespace assay
