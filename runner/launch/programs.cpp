#include "runner/launch/programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/limits.hpp"
#include "core/base/text.hpp"
#include "core/program/plugins.hpp"
#include "core/result/baseline.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string prefix = "assay-";

/// Advice on how to allow what a launcher refuses.
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

fs::path find_executable_folder(const fs::path& build) {
  const fs::path folder = fs::absolute(build).lexically_normal();
  return fs::is_directory(folder / "bin") ? folder / "bin" : folder;
}

std::vector<std::string> list_benchmark_names(const fs::path& folder) {
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

fs::path find_executable(const std::string& benchmark, const fs::path& folder) {
  const auto names = list_benchmark_names(folder);
  if (std::find(names.begin(), names.end(), benchmark) == names.end())
    throw InputError(explain_unknown_name("benchmark", benchmark, names) + " (Looked for assay-" +
                     benchmark + " in " + folder.string() + ".)");
  return folder / (prefix + benchmark);
}

std::string ask_description(const fs::path& executable, const fs::path& scratch) {
  constexpr std::chrono::seconds patience(30);
  const FinishedCommand help = finish_command({executable.string(), "--help"}, scratch, patience);
  if (help.failed()) throw CaseError(fmt::format("{} --help {}", executable.string(), help.how()));
  const std::string line = help.output.substr(0, help.output.find('\n'));
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
             [&] { find_executable(group.at("benchmark"), folder); });
  index = 0;
  for (const nlohmann::json& name : suite.value("baseline", nlohmann::json::array()))
    prefixed(fmt::format("/baseline/{}", index++), [&] { Baseline::load(name); });
}

namespace {

/// Finds the list of cases in the output of a process. Launchers print their own lines before and
/// after it, and some of these begin with a bracket, too ("[1] Loading modules").
json case_list_in(const std::string& text) {
  const auto is_case = [](const json& entry) { return entry.is_object() && entry.contains("id"); };
  json cases(json::value_t::discarded);
  for (std::size_t line = 0; line < text.size() && (cases.is_discarded() || cases.empty());) {
    if (text[line] == '[') {
      std::istringstream stream(text.substr(line));
      json list;
      try {
        stream >> list;  // up to the end of the value
      } catch (const json::parse_error&) {
        list = nullptr;
      }
      const int next = stream.get();
      if (list.is_array() && std::all_of(list.begin(), list.end(), is_case) &&
          (next == '\n' || next == std::istringstream::traits_type::eof()))
        cases = std::move(list);
    }
    const std::size_t end = text.find('\n', line);
    line = end == std::string::npos ? text.size() : end + 1;
  }
  return cases.is_discarded() ? json::parse(text) : cases;  // parse throws, and reports the
                                                            // position
}

}  // namespace

Temporary make_scratch_folder() {
  const fs::path folder = temporary_folder() / fmt::format("assay-{}", getpid());
  fs::create_directories(folder);
  return Temporary(folder);
}

Listing read_listing(const fs::path& executable, const fs::path& suite,
                     const std::vector<std::string>& launcher, const fs::path& scratch,
                     std::chrono::duration<double> timeout, const std::string& suite_hash,
                     const std::vector<std::string>& more) {
  std::vector<std::string> command = launcher;
  command.insert(command.end(),
                 {executable.string(), "--suite", suite.string(), "--list", "--json"});
  command.insert(command.end(), more.begin(), more.end());
  if (!suite_hash.empty()) command.insert(command.end(), {"--suite-hash", suite_hash});
  const FinishedCommand list = finish_command(
      command, scratch, std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  const std::string name = executable.filename().string();
  std::string said = list.errors;
  if (!list.ended.signalled && list.ended.code == static_cast<int>(ExitCode::usage) &&
      !said.empty()) {
    if (!more.empty() && said.find("unknown flag '" + more.front()) != std::string::npos)
      throw InputError(
          fmt::format("{} cannot be used with the suite {} ({} has no such flag). "
                      "Leave it out.",
                      more.front(), suite.string(), name));
    // The suite is at fault, so the message need not name the process that found it.
    if (said.starts_with(name + ": ")) said.erase(0, name.size() + 2);
    throw InputError(said);
  }
  if (list.failed())
    throw CaseError(fmt::format(
        "{} cannot list its cases ({}).{} Try `{}{} --suite {} --list`.", name, list.how(),
        way_out(said), launcher.empty() ? "" : join(launcher, " ") + " ", name, suite.string()));
  Listing listing;
  try {
    const json cases = case_list_in(list.output);
    listing.hash = content_hash("cases", cases);
    for (const json& listed : cases) {
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

namespace {

std::string hash_of_file(const fs::path& file) {
  const std::string content = readable_text(file);
  const boost::uuids::name_generator_sha1 generator(boost::uuids::ns::url());
  return boost::uuids::to_string(generator(content.data(), content.size()));
}

/// Adds the hashes of the files of a folder, by name; a missing folder has no files.
void add_hashes(const fs::path& folder, const std::string& prefix, json& into) {
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && fs::is_regular_file(entry.path(), missing))
      into[folder.filename().string() + "/" + name] = hash_of_file(entry.path());
  }
}

}  // namespace

fs::path check_executable_folder(const std::string& build, const std::string& flag) {
  std::error_code missing;
  const fs::path absolute_path = fs::absolute(build).lexically_normal();
  const fs::path folder = find_executable_folder(
      fs::is_regular_file(absolute_path, missing) ? absolute_path.parent_path() : absolute_path);
  if (list_benchmark_names(folder).empty())
    throw InputError(fmt::format(
        "{} {} is not a build of Assay (there is no executable assay-<benchmark> in {}). Give the "
        "folder of the promoted build or installation that contains bin/, or its program assay.",
        flag, build, folder.string()));
  return folder;
}

void to_json(json& document, const Installation& installation) {
  document = {{"programs", installation.programs}, {"hash", installation.hash}};
}

Installation read_installation(const fs::path& programs) {
  json files = json::object();
  std::error_code missing;
  for (const std::string& name : list_benchmark_names(programs))
    files["assay-" + name] = hash_of_file(programs / ("assay-" + name));
  for (const char* folder : {"lib", "lib64"}) {
    add_hashes(programs.parent_path() / folder / "assay", "", files);
    add_hashes(programs.parent_path() / folder, "libassay", files);
  }
  return {programs.string(), content_hash("installation", files)};
}

}  // namespace assay
