#include "runner/launch/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/paths.hpp"
#include "core/base/standard_streams.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* launchers_folder = "scripts/launchers";

/// Placeholders that a command may have, and those of a batch script.
const std::vector<std::string> of_command = {"ranks",   "nodes", "ranks_per_node",
                                             "threads", "bind",  "hosts"};
const std::vector<std::string> of_job = {"ranks", "nodes",   "ranks_per_node", "threads",
                                         "name",  "folder",  "time",           "hours_minutes",
                                         "queue", "account", "script",         "job"};

/// The names in braces of a text, and where each begins.
std::vector<std::pair<std::string, std::size_t>> placeholders_in(const std::string& text) {
  std::vector<std::pair<std::string, std::size_t>> found;
  for (std::size_t open = text.find('{'); open != std::string::npos;
       open = text.find('{', open + 1))
    if (const std::size_t close = text.find('}', open); close != std::string::npos)
      found.emplace_back(text.substr(open + 1, close - open - 1), open);
  return found;
}

/// Every text of a template with the name of each `with`, written as a placeholder.
void collect_texts(const json& pattern, std::vector<std::string>& texts) {
  for (const json& element : pattern) {
    if (element.is_string()) {
      texts.push_back(element);
      continue;
    }
    texts.push_back("{" + element.at("with").get<std::string>() + "}");
    collect_texts(element.at("words"), texts);
    collect_texts(element.value("otherwise", json::array()), texts);
  }
}

/// valijson would match a "pattern" by std::regex, which recurses for each letter.
void check_variables(const json& document, const fs::path& file) {
  for (const char* place :
       {"/variables/rank", "/variables/size", "/variables/local_rank", "/allocation/variable",
        "/allocation/node_list/file", "/allocation/node_list/words"}) {
    const json::json_pointer pointer(place);
    if (!document.contains(pointer)) continue;
    const std::string name = document.at(pointer);
    constexpr const char* valid = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t longest = 255;
    if (name.size() <= longest && (name[0] < '0' || name[0] > '9') &&
        name.find_first_not_of(valid) == std::string::npos)
      continue;
    throw InputError(fmt::format(
        "{} at {}: found \"{}{}\", expected the name of an environment variable (letters, digits "
        "and _, at most {}).",
        file.string(), place, escaped(name.substr(0, 60)), name.size() > 60 ? "…" : "", longest));
  }
}

std::string filled_text(std::string text, const Placeholders& values, const std::string& whose) {
  std::string result;
  std::size_t from = 0;
  for (const auto& [name, at] : placeholders_in(text)) {
    const auto value = values.find(name);
    if (value == values.end() || value->second.empty())
      throw InputError(
          fmt::format("the launcher {} needs a value for {{{}}} (in \"{}\"). Give it "
                      "on the command line, or in the suite's launch.",
                      whose, name, text));
    result += text.substr(from, at - from) + value->second;
    from = at + name.size() + 2;
  }
  return result + text.substr(from);
}

std::string number_or_none(std::uint64_t number) {
  return number == 0 ? "" : std::to_string(number);
}

}  // namespace

std::string ProcessShape::name() const {
  if (nodes != 0 && ranks_per_node != 0) return fmt::format("{}x{}", nodes, ranks_per_node);
  return number_or_none(all_ranks());
}

std::vector<std::string> Launcher::names() { return json_names(data_folder(launchers_folder)); }

bool Launcher::is_name(const std::string& text) {
  if (text.ends_with(".json") && text.find(' ') == std::string::npos) return true;
  const std::vector<std::string> known = names();
  return std::find(known.begin(), known.end(), text) != known.end();
}

Launcher Launcher::load(const std::string& name_or_file) {
  fs::path file = fs::absolute(name_or_file);
  if (!name_or_file.ends_with(".json")) {
    const std::vector<std::string> known = names();
    if (std::find(known.begin(), known.end(), name_or_file) == known.end())
      throw InputError(unknown_name("launcher", name_or_file, known));
    file = data_folder(launchers_folder) / (name_or_file + ".json");
  }
  Launcher launcher(file, read_checked(file, "launcher"));
  check_variables(launcher.document(), file);
  launcher.check_placeholders();
  return launcher;
}

void Launcher::check_placeholders() const {
  const std::string source = read_text_file(file_, largest_hand_written);
  const auto check = [&](const json& pattern, const std::vector<std::string>& valid,
                         std::size_t from) {
    std::vector<std::string> texts;
    collect_texts(pattern, texts);
    for (const std::string& text : texts)
      for (const auto& [name, at] : placeholders_in(text)) {
        if (std::find(valid.begin(), valid.end(), name) != valid.end()) continue;
        const std::size_t place =
            std::min(source.find("{" + name + "}", from), source.find("\"" + name + "\"", from));
        const auto line =
            1 +
            std::count(source.begin(),
                       source.begin() + static_cast<std::ptrdiff_t>(std::min(place, source.size())),
                       '\n');
        throw InputError(fmt::format("{}: line {}: {}", file_.string(), line,
                                     unknown_name("placeholder", name, valid)));
      }
  };
  const auto place_of = [&](const std::string& key, std::size_t from) {
    return source.find("\"" + key + "\"", from);
  };
  check(document_.at("command"), of_command, place_of("command", 0));
  check(document_.value("one_per_node", json::array()), {"nodes"}, place_of("one_per_node", 0));
  if (!document_.contains("job")) return;
  for (const char* part : {"script", "submit", "state"})
    check(document_.at("job").at(part), of_job, place_of(part, place_of("job", 0)));
}

std::vector<std::string> Launcher::filled(const json& pattern, const Placeholders& values) const {
  std::vector<std::string> result;
  const auto has = [&](const std::string& name) {
    const auto value = values.find(name);
    return value != values.end() && !value->second.empty();
  };
  for (const json& element : pattern) {
    if (element.is_string()) {
      result.push_back(filled_text(element, values, name()));
      continue;
    }
    const json& chosen = has(element.at("with"))         ? element.at("words")
                         : element.contains("otherwise") ? element.at("otherwise")
                                                         : json::array();
    for (std::string& word : filled(chosen, values)) result.push_back(std::move(word));
  }
  return result;
}

std::vector<std::string> Launcher::command(const ProcessShape& shape) const {
  const json& pattern = document_.at("command");
  if (pattern.empty() && shape.all_ranks() > 1)
    throw InputError(fmt::format(
        "the launcher {} starts one process, not {} ({}). Choose another launcher: {}.", name(),
        shape.all_ranks(), document_.at("description").get<std::string>(), join(names(), ", ")));
  std::string bind = shape.bind;
  if (!bind.empty() && !pattern.empty()) {
    const json known = document_.value("binding", json::object());
    if (!known.contains(bind)) {
      std::vector<std::string> valid;
      for (const auto& [value, word] : known.items()) valid.push_back(value);
      throw InputError(unknown_name("binding of the launcher " + name(), bind, valid));
    }
    bind = known.at(bind);
  }
  const std::uint64_t ranks = shape.all_ranks() != 0 ? shape.all_ranks() : shape.nodes;
  return filled(pattern, {{"ranks", number_or_none(ranks == 0 ? 1 : ranks)},
                          {"nodes", number_or_none(shape.nodes)},
                          {"ranks_per_node", number_or_none(shape.ranks_per_node)},
                          {"threads", number_or_none(shape.threads)},
                          {"bind", bind},
                          {"hosts", shape.hosts}});
}

void Launcher::expect_choice_of_nodes(const std::string& flag) const {
  std::vector<std::string> texts;
  collect_texts(document_.at("command"), texts);
  if (std::none_of(texts.begin(), texts.end(), [](const std::string& text) {
        return text.find("{hosts}") != std::string::npos;
      }))
    throw InputError(fmt::format(
        "{} cannot be used with the launcher {} (it cannot be told which nodes to use: the command "
        "in {} has no {{hosts}}). Choose another launcher, or add it.",
        flag, name(), file_.string()));
}

std::vector<std::string> Launcher::one_per_node(std::uint64_t nodes) const {
  if (!document_.contains("one_per_node"))
    throw InputError(fmt::format(
        "the launcher {} cannot start one process on each node (its file {} has no one_per_node). "
        "Add it, or choose another launcher.",
        name(), file_.string()));
  const json& pattern = document_.at("one_per_node");
  if (pattern.empty() && nodes > 1)
    throw InputError(
        fmt::format("the launcher {} can use one node, not {} ({}). Choose another: {}.", name(),
                    nodes, document_.at("description").get<std::string>(), join(names(), ", ")));
  return filled(pattern, {{"nodes", std::to_string(nodes)}});
}

void Launcher::expect_allocation() const {
  if (!document_.contains("allocation")) return;
  const json& allocation = document_.at("allocation");
  const std::string variable = allocation.at("variable");
  if (std::getenv(variable.c_str()) == nullptr)
    throw InputError(fmt::format(
        "the launcher {} works only within an allocation of nodes ({} is not set). Get one: {}.",
        name(), variable, allocation.at("how").get<std::string>()));
}

std::vector<std::string> Launcher::allocated_nodes(const fs::path& scratch) const {
  const json list = document_.value("allocation", json::object()).value("node_list", json());
  if (!list.is_object()) return {};
  const auto unavailable = [](const std::string& why) {
    return CaseError(fmt::format("the names of the allocated nodes are unavailable ({}).", why));
  };
  std::string text, source;
  if (list.contains("command")) {
    const std::vector<std::string> words = list.at("command");
    source = "`" + join(words, " ") + "`";
    Ended ended;
    std::string said;
    constexpr std::chrono::seconds patience(30);
    text = output_of(words, scratch, patience, ended, said);
    if (ended.signalled || ended.code != 0)
      throw unavailable(
          fmt::format("{} {}{}{}", source, ended.text(), said.empty() ? "" : ": ", said));
  } else {
    const std::string variable = list.begin().value();
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) throw unavailable(variable + " is not set");
    source = variable;
    text = value;
    if (list.contains("file")) {
      source += ", " + text;
      try {
        text = read_text_file(text, largest_hand_written);
      } catch (const InputError& error) {
        throw unavailable(fmt::format("{}: {}", variable, error.what()));
      }
    }
  }
  std::replace(text.begin(), text.end(), ' ', '\n');
  std::vector<std::string> nodes;  // each once: some lists name a node for each of its slots
  for (const std::string& node : split(text, '\n'))
    if (!node.empty() && std::find(nodes.begin(), nodes.end(), node) == nodes.end())
      nodes.push_back(node);
  if (nodes.empty()) throw unavailable(source + " names none");
  return nodes;
}

}  // namespace assay
