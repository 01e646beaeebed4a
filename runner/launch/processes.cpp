#include "runner/launch/processes.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The words that start `ranks` processes: the launcher's (mpirun where none is given) and -n.
std::vector<std::string> with_ranks(std::vector<std::string> words, std::uint64_t ranks) {
  if (words.empty()) words = {"mpirun"};
  words.insert(words.end(), {"-n", std::to_string(ranks)});
  return words;
}

/// Whether these words start several processes, and leave their number open.
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

/// A command of the caller's own knows -n alone. `asked`: whether the caller gives the number.
std::vector<std::string> by_words(const std::string& text, const ProcessShape& shape, bool asked) {
  const std::vector<std::string> words = launcher_words(text);
  if (words.size() == 1 && !in_path(words.front()))
    throw InputError(unknown_name("launcher", words.front(), Launcher::names()) +
                     " (It is not a program in PATH either.)");
  if (!shape.is_number_alone())
    throw InputError(fmt::format(
        "--launcher \"{}\" is a command, which can be given a number of ranks alone (nodes, ranks "
        "per node, threads, binding need a launcher's file). Use one of: {}.",
        text, join(Launcher::names(), ", ")));
  if (shape.ranks == 0 || (!asked && !leaves_ranks_open(words))) return words;
  return with_ranks(words, shape.ranks);
}

std::vector<ProcessShape> requested_shapes(const ProcessRequest& request) {
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

ProcessShape merged(ProcessShape shape, const ProcessShape& over) {
  if (over.threads != 0) shape.threads = over.threads;
  if (!over.bind.empty()) shape.bind = over.bind;
  if (!over.hosts.empty()) shape.hosts = over.hosts;
  return shape;
}

}  // namespace

std::vector<ProcessShape> shapes_of(const json& launch) {
  std::vector<ProcessShape> shapes;
  for (const json& entry : launch.is_array() ? launch : json::array({launch}))
    if (entry.is_object())
      shapes.push_back({.nodes = entry.value("nodes", std::uint64_t{0}),
                        .ranks_per_node = entry.value("ranks_per_node", std::uint64_t{0}),
                        .ranks = entry.value("ranks", std::uint64_t{0}),
                        .threads = entry.value("threads", std::uint64_t{0}),
                        .bind = entry.value("bind", ""),
                        .hosts = ""});
  return shapes;
}

json shape_document(const ProcessShape& shape) {
  json document = json::object();
  if (shape.nodes != 0) document["nodes"] = shape.nodes;
  if (shape.ranks_per_node != 0) document["ranks_per_node"] = shape.ranks_per_node;
  if (shape.ranks != 0) document["ranks"] = shape.ranks;
  if (shape.threads != 0) document["threads"] = shape.threads;
  if (!shape.bind.empty()) document["bind"] = shape.bind;
  return document;
}

std::vector<Processes> processes_of(const ProcessRequest& request,
                                    const std::vector<ProcessShape>& suite) {
  const bool asked = !request.nodes.empty() || !request.ranks.empty() ||
                     request.shape.all_ranks() != 0 || request.shape.nodes != 0 ||
                     request.shape.ranks_per_node != 0;
  std::vector<ProcessShape> shapes;
  if (asked)
    shapes = requested_shapes(request);
  else
    for (const ProcessShape& shape : suite) shapes.push_back(merged(shape, request.shape));
  if (shapes.empty()) shapes = {merged({}, request.shape)};
  const bool named = request.launcher && Launcher::is_name(*request.launcher);
  if (named && !request.shape.hosts.empty())
    Launcher::load(*request.launcher).expect_choice_of_nodes("--hosts");
  std::vector<Processes> all;
  for (ProcessShape shape : shapes) {
    // Ranks on each node without a number of nodes: those of the named ones, or of one.
    if (shape.ranks_per_node != 0 && shape.all_ranks() == 0)
      shape.nodes = shape.hosts.empty() ? 1 : split(shape.hosts, ',').size();
    Processes processes{shape, {}};
    if (named)
      processes.words = Launcher::load(*request.launcher).command(shape);
    else if (request.launcher)
      processes.words = by_words(*request.launcher, shape, asked);
    else if (!shape.is_number_alone())
      processes.words = Launcher::load("mpirun").command(shape);
    else if (shape.ranks != 0)
      processes.words = with_ranks({}, shape.ranks);
    all.push_back(std::move(processes));
  }
  return all;
}

std::vector<std::string> launcher_words(const std::string& text) {
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

}  // namespace assay
