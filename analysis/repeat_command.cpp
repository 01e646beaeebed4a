#include "analysis/repeat_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/program/allocator.hpp"

namespace assay {

using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

bool is_variable(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name,
                             [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
}

/// The library of the row's allocator, under the name with which its process loaded it; "" for the
/// system's allocator.
std::string find_preload(const Row& row, const std::string& recorded) {
  const Words names = list_allocator_libraries(row.parameter("allocator"));
  for (std::string file : split(recorded, ':')) {
    file.erase(0, file.rfind('/') + 1);
    if (std::ranges::find(names, file) != names.end()) return file;
  }
  return names.empty() ? "" : names.front();
}

/// True if a launcher sets the variable for its job through its own flags.
bool is_of_launcher(const std::string& name) {
  return std::ranges::any_of(std::array{"SLURM_", "PALS_", "PMI_"},
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

/// "env NAME=VALUE …", or nothing.
Words environment_words(const ResultEnvironment& environment, const Row& row) {
  Words words;
  std::string recorded;
  const auto switches = environment.software.find("switches");
  if (environment.software.is_object() && switches != environment.software.end())
    for (const auto& [name, value] : switches->items()) {
      if (!value.is_string() || !is_variable(name) || !assay::environment::is_user_setting(name))
        continue;
      const auto& text = value.get_ref<const std::string&>();
      if (name.starts_with("LD_PRELOAD")) {
        recorded = text;
      } else if (!is_of_launcher(name) && text.find('/') == std::string::npos) {
        words.push_back(shell_word(name + "=" + text));
      }
    }
  if (const std::string library = find_preload(row, recorded); !library.empty())
    words.push_back(shell_word("LD_PRELOAD=" + library));
  if (!words.empty()) words.insert(words.begin(), "env");
  return words;
}

/// The flag of a parameter; one parameter has an old name in files.
std::string name_flag(std::string parameter) {
  if (parameter == "inside") parameter = "intra_node";
  std::ranges::replace(parameter, '_', '-');
  return parameter;
}

}  // namespace

std::string make_repeat_command(const RunHeader& run, const ResultEnvironment& environment,
                                const Row& row, std::size_t launches) {
  if (row.published) return "";
  Words words = environment_words(environment, row);
  Words launcher = run.settings ? run.settings->launcher : Words();
  const bool several = row.number("ranks").value_or(1) > 1;
  if (launcher.empty() && several) launcher = {"mpirun", "-n", row.parameter("ranks")};
  for (const std::string& word : launcher) words.push_back(shell_word(word));
  std::string program = "assay-" + row.benchmark;
  std::ranges::replace(program, '_', '-');
  words.push_back(shell_word(program));
  const auto add = [&](const std::string& name, const std::string& value) {
    words.insert(words.end(), {shell_word("--" + name_flag(name)), shell_word(value)});
  };
  // A benchmark whose cases have no problem (a collective has a size) has no such flag; its id
  // names every dimension.
  if (row.id.find("/" + row.problem.descriptor) != std::string::npos)
    add("problem", row.problem.descriptor);
  // The launcher sets ranks and nodes. The program itself determines whether its set is staged, and
  // the file system of a folder.
  static const std::set<std::string> no_flags{"problem", "ranks", "nodes", "staged", "file_system"};
  for (const auto& [name, value] : row.parameters)
    if (!value.is_null() && !no_flags.contains(name)) add(name, row.parameter(name));
  if (run.seed) add("seed", std::to_string(*run.seed));
  const RunTiming timing = run.whole_timing();
  visit_options(timing, [&](const char* name, const auto& option) {
    if (option) add(name, fmt::format("{}", *option));
  });
  // Under a launcher of several processes, each process would start its own launches.
  if (launches > 1 && !several) add("launches", std::to_string(launches));
  return join(words, " ");
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace assay
