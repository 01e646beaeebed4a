#include "runner/launch/processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/given.hpp"
#include "core/program/suite.hpp"

namespace assay {

using nlohmann::json;

void visit_fields(SameAs<ProcessShape> auto& shape, auto& fields) {
  const auto visit_count = [&](const char* name, auto& count) {
    if (count != 0 || !std::is_const_v<std::remove_reference_t<decltype(shape)>>)
      fields.optional(name, count);
  };
  visit_count("nodes", shape.nodes);
  visit_count("ranks_per_node", shape.ranks_per_node);
  visit_count("ranks", shape.ranks);
  visit_count("threads", shape.threads);
  fields.optional("bind", shape.bind);
}
void visit_fields(SameAs<SuiteSettings::Timing> auto& timing, auto& fields) {
  fields.optional("max_time", timing.max_time, "timeout", timing.timeout);
}
void visit_fields(SameAs<SuiteSettings> auto& settings, auto& fields) {
  fields.optional("name", settings.name, "description", settings.description, "launches",
                  settings.launches, "launch", settings.launch, "baseline", settings.baselines,
                  "ceilings", settings.ceilings, "timing", settings.timing, "tolerance",
                  settings.tolerance);
}
void from_json(const json& document, SuiteShapes& shapes) {
  shapes.several = document.is_array();
  if (shapes.several)
    document.get_to(shapes.shapes);
  else
    shapes.shapes = {document.get<ProcessShape>()};
}

namespace {

/// The words that start `ranks` processes: those of the launcher (by default mpirun) and -n.
std::vector<std::string> with_ranks(std::vector<std::string> words, std::uint64_t ranks) {
  if (words.empty()) words = {"mpirun"};
  words.insert(words.end(), {"-n", std::to_string(ranks)});
  return words;
}

/// True if these words start several processes, and do not contain their number.
bool leaves_ranks_open(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const std::string program = std::filesystem::path(words.front()).filename().string();
  return (program.starts_with("mpirun") || program.starts_with("mpiexec") || program == "srun") &&
         !names_ranks(words);
}

bool in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return true;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':'))
    if (access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

/// A command given by the caller supports only -n. `is_forced`: the caller gives the number.
std::vector<std::string> by_words(const std::string& text, const ProcessShape& shape,
                                  bool is_forced) {
  const std::vector<std::string> words = make_launcher_words(text);
  if (words.size() == 1 && !in_path(words.front()))
    throw InputError(explain_unknown_name("launcher", words.front(), Launcher::names()) +
                     " (It is not a program in PATH either.)");
  if (!shape.is_number_alone())
    throw InputError(fmt::format(
        "--launcher \"{}\" is a command, which can be given a number of ranks alone (nodes, ranks "
        "per node, threads, binding need a launcher's file). Use one of: {}.",
        text, join(Launcher::names(), ", ")));
  if (shape.ranks == 0 || (!is_forced && !leaves_ranks_open(words))) return words;
  return with_ranks(words, shape.ranks);
}

std::vector<ProcessShape> list_requested_shapes(const ProcessRequest& request) {
  std::vector<ProcessShape> shapes{request.shape};
  const auto vary = [&](std::uint64_t ProcessShape::*field,
                        const std::vector<std::uint64_t>& numbers) {
    std::vector<ProcessShape> all;
    for (const ProcessShape& shape : shapes)
      for (const std::uint64_t number : numbers) {
        all.push_back(shape);
        all.back().*field = number;
      }
    if (!numbers.empty()) shapes = std::move(all);
  };
  vary(&ProcessShape::nodes, request.nodes);
  vary(&ProcessShape::ranks, request.ranks);
  return shapes;
}

ProcessShape merge_shapes(ProcessShape shape, const ProcessShape& over) {
  if (over.threads != 0) shape.threads = over.threads;
  if (!over.bind.empty()) shape.bind = over.bind;
  if (!over.hosts.empty()) shape.hosts = over.hosts;
  return shape;
}

}  // namespace

void to_json(json& document, const ProcessShape& shape) { document = write_fields(shape); }
void from_json(const json& document, ProcessShape& shape) { read_fields(document, shape); }

SuiteSettings suite_settings(const json& suite) {
  SuiteSettings settings;
  read_fields(suite, settings);
  return settings;
}

std::vector<Processes> make_processes(const ProcessRequest& request,
                                      const std::vector<ProcessShape>& suite) {
  const bool is_forced = !request.nodes.empty() || !request.ranks.empty() ||
                         request.shape.all_ranks() != 0 || request.shape.nodes != 0 ||
                         request.shape.ranks_per_node != 0;
  std::vector<ProcessShape> shapes;
  if (is_forced)
    shapes = list_requested_shapes(request);
  else
    for (const ProcessShape& shape : suite) shapes.push_back(merge_shapes(shape, request.shape));
  if (shapes.empty()) shapes = {merge_shapes({}, request.shape)};
  const bool named = request.launcher && Launcher::is_name(*request.launcher);
  if (named && !request.shape.hosts.empty())
    Launcher::load(*request.launcher).expect_choice_of_nodes("--hosts");
  std::vector<Processes> all;
  for (ProcessShape shape : shapes) {
    // If only the number of ranks on each node is given, the nodes are the named ones, or one node.
    if (shape.ranks_per_node != 0 && shape.all_ranks() == 0)
      shape.nodes = shape.hosts.empty() ? 1 : split(shape.hosts, ',').size();
    Processes processes{shape, {}};
    if (named)
      processes.words = Launcher::load(*request.launcher).command(shape);
    else if (request.launcher)
      processes.words = by_words(*request.launcher, shape, is_forced);
    else if (!shape.is_number_alone())
      processes.words = Launcher::load("mpirun").command(shape);
    else if (shape.ranks != 0)
      processes.words = with_ranks({}, shape.ranks);
    all.push_back(std::move(processes));
  }
  return all;
}

std::vector<std::string> make_launcher_words(const std::string& text) {
  std::vector<std::string> all;
  for (std::string& word : split(text, ' '))
    if (!word.empty()) all.push_back(std::move(word));
  return all;
}

bool names_ranks(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "-n" || word == "-np" || word == "--np" || word.starts_with("--ntasks");
  });
}

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
       "starter of processes: a name (see `assay list launchers`), a launcher's file, or "
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

ProcessRequest process_request(const Arguments& arguments) {
  if (arguments.contains("ranks") && arguments.contains("ranks-per-node"))
    throw InputError(
        "--ranks and --ranks-per-node both give the number of processes. Leave one of them out.");
  constexpr std::uint64_t most = 1'000'000;
  ProcessRequest request{.launcher = read_value(arguments, "launcher")};
  const auto read = [&](const char* flag, std::uint64_t& single,
                        std::vector<std::uint64_t>& several) {
    for (const std::string& text : read_values(arguments, flag))
      several.push_back(whole_number(fmt::format("--{}", flag), text, 1, most));
    if (several.size() != 1) return;
    single = several.front();
    several.clear();
  };
  read("ranks", request.shape.ranks, request.ranks);
  read("nodes", request.shape.nodes, request.nodes);
  request.shape.ranks_per_node =
      read_whole_number(arguments, "ranks-per-node", 1, most).value_or(0);
  request.shape.threads = read_whole_number(arguments, "threads-per-rank", 1, most).value_or(0);
  request.shape.hosts = read_value(arguments, "hosts").value_or("");
  if (arguments.contains("bind")) request.shape.bind = read_choice(arguments, "bind", bindings);
  return request;
}

SuiteSettings read_suite_settings(const Arguments& arguments) {
  return suite_settings(read_suite(find_suite(*read_value(arguments, "SUITE"))));
}

std::vector<std::string> list_names_in(const Arguments& arguments) {
  const std::filesystem::path suite = find_suite(*read_value(arguments, "SUITE"));
  std::vector<std::string> all = texts_in(read_suite(suite));
  all.push_back(suite.string());
  for (const auto& [flag, values] : arguments)
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

std::string format_clock(std::uint64_t seconds) {
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace assay
