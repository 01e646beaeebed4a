#include <fmt/format.h>

#include <iostream>

#include "cli/commands.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay {

namespace {

int stopped(const Arguments& arguments) {
  std::string answer = host_here() + " asked\n";
  for (const StoppedProcess& process : find_stopped_here(*read_value(arguments, "WORD")))
    answer += fmt::format("{} stopped {} {}\n", process.host, process.process, process.rank);
  std::cout << answer << std::flush;  // a single write: several hosts share a pipe
  return 0;
}

}  // namespace

Command stopped_command() {
  return {
      "stopped",
      "List the stopped processes of this host with WORD in their command.\n`assay run` starts it "
      "on the hosts of a job that makes no progress.",
      {{"WORD", "an argument of the command, complete", "WORD", "", true}},
      &stopped,
      {{"assay stopped journal.jsonl", "lists stopped processes with this word in their command"}},
      "",
      internal_group};
}

}  // namespace assay
