#include <unistd.h>

#include <algorithm>

#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/program/terminal.hpp"

namespace {

/// The commands. Their tables take the width of the terminal, except those in files (--out FILE)
/// and in formats for programs.
std::vector<assay::Command> commands_for_terminal() {
  std::vector<assay::Command> commands = assay::all_commands();
  for (assay::Command& command : commands) {
    const bool writes_file = std::ranges::any_of(command.flags, [](const assay::Flag& flag) {
      return flag.name == "--out" && flag.value == "FILE";
    });
    command.run = [run = command.run, writes_file](const assay::Arguments& arguments) {
      const auto width = assay::find_terminal_width(STDOUT_FILENO);
      const bool for_people =
          assay::read_value(arguments, "format").value_or("terminal") == "terminal" &&
          !(writes_file && arguments.contains("out"));
      if (width && for_people) {
        assay::table_width = *width;
        assay::wraps_notes = true;
      }
      return run(arguments);
    };
  }
  return commands;
}

}  // namespace

int main(int argc, char** argv) {
  assay::Command assay{"assay", "Runs benchmark suites and reads their results.", {}};
  assay.examples = {
      {"assay run smoke", "runs the suite smoke; results/smoke-<time> then holds the result"},
      {"assay list suites", "lists the suites that are shipped"},
      {"assay help run", "explains every flag of `assay run`"}};
  assay.exit_codes =
      "0 ok, 2 bad usage or input, 3 incorrect numerics, 4 slower than allowed, 5 the data cannot "
      "decide, 6 not comparable, or a number is missing, 7 failed or timed out, 8 a suspect could "
      "not be confirmed, 9 a training missed its target";
  return assay::command_main(assay, commands_for_terminal(), argc, argv);
}
