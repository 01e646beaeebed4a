#include "runner/launch/programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/program/plugins.hpp"
#include "core/result/baseline.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string prefix = "assay-";

/// How to allow what a launcher refuses.
std::string way_out(const std::string& said) {
  const auto tells = [&](const char* word) { return said.find(word) != std::string::npos; };
  if (tells("run-as-root"))
    return " To allow it: OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or --launcher "
           "'mpirun --allow-run-as-root'.";
  if (tells("slots"))
    return " To allow more ranks than processors: --launcher 'mpirun --oversubscribe' (their times "
           "then include the operating system's scheduling).";
  return "";
}

}  // namespace

fs::path executable_folder_of(const fs::path& build) {
  const fs::path folder = fs::absolute(build).lexically_normal();
  return fs::is_directory(folder / "bin") ? folder / "bin" : folder;
}

std::vector<std::string> benchmark_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(prefix) && entry.is_regular_file() &&
        access(entry.path().c_str(), X_OK) == 0)
      names.push_back(file.substr(prefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path executable_of(const std::string& benchmark, const fs::path& folder) {
  const auto names = benchmark_names(folder);
  if (std::find(names.begin(), names.end(), benchmark) == names.end())
    throw InputError(unknown_name("benchmark", benchmark, names) + " (Looked for assay-" +
                     benchmark + " in " + folder.string() + ".)");
  return folder / (prefix + benchmark);
}

std::string description_of(const fs::path& executable, const fs::path& scratch) {
  constexpr std::chrono::seconds patience(30);
  Ended ended;
  std::string said;
  const std::string help =
      output_of({executable.string(), "--help"}, scratch, patience, ended, said);
  if (ended.signalled || ended.code != 0)
    throw CaseError(fmt::format("{} --help {}{}{}", executable.string(), ended.text(),
                                said.empty() ? "" : ": ", said));
  const std::string line = help.substr(0, help.find('\n'));
  std::string sentence = line.substr(0, line.find(". "));
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

void check_suite_names(const nlohmann::json& suite, const fs::path& file, const fs::path& folder) {
  std::size_t index = 0;
  const auto prefixed = [&](const std::string& pointer, const auto& body) {
    try {
      body();
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} at {}: {}", file.string(), pointer, error.what()));
    }
  };
  for (const nlohmann::json& group : suite.at("cases"))
    prefixed(fmt::format("/cases/{}/benchmark", index++),
             [&] { executable_of(group.at("benchmark"), folder); });
  index = 0;
  for (const nlohmann::json& name : suite.value("baseline", nlohmann::json::array()))
    prefixed(fmt::format("/baseline/{}", index++), [&] { Baseline::load(name); });
}

namespace {

/// The list of cases in what a process has printed: launchers print lines of their own before and
/// after it, some of which begin with a bracket, too ("[1] Loading modules").
json case_list_in(const std::string& text) {
  const auto is_case = [](const json& entry) { return entry.is_object() && entry.contains("id"); };
  json found(json::value_t::discarded);
  for (std::size_t line = 0; line < text.size() && (found.is_discarded() || found.empty());) {
    if (text[line] == '[') {
      std::istringstream from(text.substr(line));
      json list;
      try {
        from >> list;  // as far as the value goes
      } catch (const json::parse_error&) {
        list = nullptr;
      }
      const int next = from.get();
      if (list.is_array() && std::all_of(list.begin(), list.end(), is_case) &&
          (next == '\n' || next == std::istringstream::traits_type::eof()))
        found = std::move(list);
    }
    const std::size_t end = text.find('\n', line);
    line = end == std::string::npos ? text.size() : end + 1;
  }
  return found.is_discarded() ? json::parse(text) : found;  // parse throws, and tells where
}

}  // namespace

Listing listed_cases(const fs::path& executable, const fs::path& suite,
                     const std::vector<std::string>& launcher, const fs::path& scratch,
                     std::chrono::duration<double> timeout, const std::string& suite_hash,
                     const std::vector<std::string>& more) {
  std::vector<std::string> command = launcher;
  for (const std::string& word : {executable.string(), std::string("--suite"), suite.string(),
                                  std::string("--list"), std::string("--json")})
    command.push_back(word);
  command.insert(command.end(), more.begin(), more.end());
  if (!suite_hash.empty()) command.insert(command.end(), {"--suite-hash", suite_hash});
  Ended ended;
  std::string said;
  const std::string text =
      output_of(command, scratch, std::chrono::duration_cast<std::chrono::milliseconds>(timeout),
                ended, said);
  const std::string name = executable.filename().string();
  if (!ended.signalled && ended.code == static_cast<int>(ExitCode::usage) && !said.empty()) {
    if (!more.empty() && said.find("unknown flag '" + more.front()) != std::string::npos)
      throw InputError(
          fmt::format("{} cannot be used with the suite {} ({} has no such flag). "
                      "Leave it out.",
                      more.front(), suite.string(), name));
    // The fault is the suite's: who asked wants to read of it, not of the process that saw it.
    if (said.starts_with(name + ": ")) said.erase(0, name.size() + 2);
    throw InputError(said);
  }
  if (ended.signalled || ended.code != 0)
    throw CaseError(
        fmt::format("{} cannot list its cases ({}{}{}).{} Try `{}{} --suite {} --list`.", name,
                    ended.text(), said.empty() ? "" : ": ", said, way_out(said),
                    launcher.empty() ? "" : join(launcher, " ") + " ", name, suite.string()));
  Listing listing;
  try {
    const json list = case_list_in(text);
    listing.hash = content_hash("cases", list);
    for (const json& listed : list) {
      listing.cases.push_back(listed);
      for (const json& plugin : listed.value("plugins", json::array()))
        listing.plugins.insert(plugin);
    }
  } catch (const json::exception& error) {
    throw CaseError(fmt::format(
        "the list of cases of {} cannot be parsed ({}). Are `assay` and {} from the same build?",
        name, error.what(), name));
  }
  return listing;
}

}  // namespace assay
