#include "runner/launch/process_flags.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/given.hpp"
#include "core/program/suite.hpp"

namespace assay {

namespace {

const std::vector<std::string> bindings = {"core", "numa", "socket", "none"};

}  // namespace

std::vector<Flag> process_flags() {
  return {
      {"--site",
       "a machine's file, or its name (see `assay list sites`): launcher, placement, expected "
       "ceilings, and the name that results carry",
       "SITE", "none"},
      {"--launcher",
       "how processes are started: a name (see `assay list launchers`), a launcher's file, or "
       "a command, e.g. \"mpirun -n 2\"",
       "LAUNCHER", "mpirun for several ranks"},
      {"--ranks",
       "number of ranks for benchmarks that use several; a list runs every case with each number",
       "N,...", "the suite's", false, true},
      {"--nodes", "number of nodes; a list runs every case with each number", "N,...",
       "the suite's", false, true},
      {"--ranks-per-node", "ranks on each node", "N", "the suite's"},
      {"--hosts", "nodes of the allocation to use", "NAME,...", "all"},
      {"--threads-per-rank", "cores that each rank gets", "N", "the launcher's"},
      {.name = "--bind",
       .help =
           "unit of the processor to which each rank is bound; checked before anything is timed",
       .value = "UNIT",
       .otherwise = "the launcher's",
       .choices = bindings}};
}

ProcessRequest process_request(const Given& given) {
  if (given.contains("ranks") && given.contains("ranks-per-node"))
    throw InputError(
        "--ranks and --ranks-per-node both give the number of processes. Leave one of them out.");
  constexpr std::uint64_t most = 1'000'000;
  ProcessRequest request{.launcher = value_of(given, "launcher")};
  const auto read = [&](const char* flag, std::uint64_t& single,
                        std::vector<std::uint64_t>& several) {
    for (const std::string& text : values_of(given, flag))
      several.push_back(whole_number(fmt::format("--{}", flag), text, 1, most));
    if (several.size() != 1) return;
    single = several.front();
    several.clear();
  };
  read("ranks", request.shape.ranks, request.ranks);
  read("nodes", request.shape.nodes, request.nodes);
  request.shape.ranks_per_node = whole_of(given, "ranks-per-node", 1, most).value_or(0);
  request.shape.threads = whole_of(given, "threads-per-rank", 1, most).value_or(0);
  request.shape.hosts = value_of(given, "hosts").value_or("");
  if (given.contains("bind")) request.shape.bind = choice_of(given, "bind", bindings);
  return request;
}

std::vector<std::string> named_by(const Given& given) {
  const std::filesystem::path suite = find_suite(*value_of(given, "SUITE"));
  std::vector<std::string> all = texts_in(read_suite(suite));
  all.push_back(suite.string());
  for (const auto& [flag, values] : given)
    for (const std::string& value : values)
      for (std::string& word : split(value, ' ')) all.push_back(std::move(word));
  return all;
}

std::uint64_t clock_time(const std::string& flag, const std::string& text, std::uint64_t least) {
  const std::vector<std::string> parts = split(text, ':');
  const auto wrong = [&] {
    return InputError(fmt::format(
        "{} {} is not a time (minutes, MM:SS or HH:MM:SS, at least {} s). Write 01:30:00 for "
        "ninety minutes.",
        flag, text, least));
  };
  std::uint64_t seconds = 0;
  if (parts.size() > 3) throw wrong();
  for (const std::string& part : parts) {
    constexpr std::size_t most_digits = 6;
    if (part.empty() || part.size() > most_digits ||
        part.find_first_not_of("0123456789") != std::string::npos)
      throw wrong();
    seconds = 60 * seconds + std::stoull(part);
  }
  if (parts.size() == 1) seconds *= 60;
  if (seconds < least) throw wrong();
  return seconds;
}

std::string clock_text(std::uint64_t seconds) {
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace assay
