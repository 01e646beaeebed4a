#include "runner/launch/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/json_fields.hpp"
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

const std::vector<std::string> command_placeholders = {"ranks",   "nodes", "ranks_per_node",
                                                       "threads", "bind",  "hosts"};
const std::vector<std::string> job_placeholders = {
    "ranks", "nodes",         "ranks_per_node", "threads", "name",   "folder",
    "time",  "hours_minutes", "queue",          "account", "script", "job"};

/// The names in braces of a text, and where each begins.
std::vector<std::pair<std::string, std::size_t>> placeholders_in(const std::string& text) {
  std::vector<std::pair<std::string, std::size_t>> names;
  for (std::size_t open = text.find('{'); open != std::string::npos;
       open = text.find('{', open + 1))
    if (const std::size_t close = text.find('}', open); close != std::string::npos)
      names.emplace_back(text.substr(open + 1, close - open - 1), open);
  return names;
}

/// Adds every text of a template, with the name of each `with` written as a placeholder.
void add_texts(const Template& pattern, std::vector<std::string>& texts) {
  for (const TemplatePart& part : pattern) {
    texts.push_back(part.with.empty() ? part.text : "{" + part.with + "}");
    add_texts(part.words, texts);
    add_texts(part.otherwise, texts);
  }
}

/// valijson would match a "pattern" by std::regex, which recurses for each character.
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
        file.string(), place, escape_controls(name.substr(0, 60)), name.size() > 60 ? "…" : "",
        longest));
  }
}

std::string fill_text(std::string text, const Placeholders& values, const std::string& whose) {
  std::string result;
  std::size_t start = 0;
  for (const auto& [name, at] : placeholders_in(text)) {
    const auto value = values.find(name);
    if (value == values.end() || value->second.empty())
      throw InputError(
          fmt::format("the launcher {} needs a value for {{{}}} (in \"{}\"). Give it "
                      "on the command line, or in the suite's launch.",
                      whose, name, text));
    result += text.substr(start, at - start) + value->second;
    start = at + name.size() + 2;
  }
  return result + text.substr(start);
}

}  // namespace

void from_json(const json& document, TemplatePart& part) {
  if (document.is_string()) {
    document.get_to(part.text);
    return;
  }
  FieldReader fields(document);
  fields.always("with", part.with, "words", part.words);
  fields.optional("otherwise", part.otherwise);
}
void visit_fields(SameAs<BatchSystem> auto& job, auto& fields) {
  fields.always("script", job.script, "submit", job.submit, "number", job.number, "state",
                job.state, "active", job.active);
  fields.optional("script_on_stdin", job.script_on_stdin);
}
void visit_fields(SameAs<Allocation::NodeList> auto& list, auto& fields) {
  fields.optional("command", list.command, "file", list.file, "words", list.words);
}
void visit_fields(SameAs<Allocation> auto& allocation, auto& fields) {
  fields.always("variable", allocation.variable, "how", allocation.how);
  fields.optional("node_list", allocation.node_list);
}
void visit_fields(SameAs<Launcher::Content> auto& content, auto& fields) {
  fields.always("name", content.name, "description", content.description, "command",
                content.command);
  fields.optional("one_per_node", content.one_per_node, "binding", content.binding, "allocation",
                  content.allocation, "job", content.job);
}

std::string number_or_none(std::uint64_t number) {
  return number == 0 ? "" : std::to_string(number);
}

std::string ProcessShape::name() const {
  if (nodes != 0 && ranks_per_node != 0) return fmt::format("{}x{}", nodes, ranks_per_node);
  return number_or_none(all_ranks());
}

std::vector<std::string> Launcher::names() {
  return list_json_names(data_folder(launchers_folder));
}

bool Launcher::is_name(const std::string& text) {
  if (text.ends_with(".json") && text.find(' ') == std::string::npos) return true;
  const std::vector<std::string> known = names();
  return std::find(known.begin(), known.end(), text) != known.end();
}

fs::path find_named_file(const std::string& kind, const std::string& name_or_file,
                         const fs::path& folder) {
  if (name_or_file.ends_with(".json")) return fs::absolute(name_or_file);
  const std::vector<std::string> known = list_json_names(folder);
  if (std::find(known.begin(), known.end(), name_or_file) == known.end())
    throw InputError(explain_unknown_name(kind, name_or_file, known));
  return folder / (name_or_file + ".json");
}

Launcher Launcher::load(const std::string& name_or_file) {
  const fs::path file = find_named_file("launcher", name_or_file, data_folder(launchers_folder));
  const json document = read_checked(file, "launcher");
  check_variables(document, file);
  Content content;
  read_fields(document, content);
  Launcher launcher(file, std::move(content));
  launcher.check_placeholders();
  return launcher;
}

void Launcher::check_placeholders() const {
  const std::string source = read_text_file(file_, largest_hand_written);
  const auto check = [&](const Template& pattern, const std::vector<std::string>& valid,
                         std::size_t from) {
    std::vector<std::string> texts;
    add_texts(pattern, texts);
    for (const std::string& text : texts)
      for (const auto& [name, at] : placeholders_in(text)) {
        if (std::find(valid.begin(), valid.end(), name) != valid.end()) continue;
        const std::size_t place = std::min({source.find("{" + name + "}", from),
                                            source.find("\"" + name + "\"", from), source.size()});
        const auto line = 1 + std::ranges::count(std::string_view(source).substr(0, place), '\n');
        throw InputError(fmt::format("{}: line {}: {}", file_.string(), line,
                                     explain_unknown_name("placeholder", name, valid)));
      }
  };
  const auto find_place = [&](const std::string& key, std::size_t from) {
    return source.find("\"" + key + "\"", from);
  };
  check(content_.command, command_placeholders, find_place("command", 0));
  check(content_.one_per_node.value_or(Template{}), {"nodes"}, find_place("one_per_node", 0));
  if (!content_.job) return;
  const std::size_t job = find_place("job", 0);
  check(content_.job->script, job_placeholders, find_place("script", job));
  check(content_.job->submit, job_placeholders, find_place("submit", job));
  check(content_.job->state, job_placeholders, find_place("state", job));
}

std::vector<std::string> Launcher::fill(const Template& pattern, const Placeholders& values) const {
  std::vector<std::string> result;
  for (const TemplatePart& part : pattern) {
    if (part.with.empty()) {
      result.push_back(fill_text(part.text, values, name()));
      continue;
    }
    const auto value = values.find(part.with);
    const bool has_value = value != values.end() && !value->second.empty();
    for (std::string& word : fill(has_value ? part.words : part.otherwise, values))
      result.push_back(std::move(word));
  }
  return result;
}

std::vector<std::string> Launcher::command(const ProcessShape& shape) const {
  const Template& pattern = content_.command;
  if (pattern.empty() && shape.all_ranks() > 1)
    throw InputError(
        fmt::format("the launcher {} starts one process, not {} ({}). Choose another launcher: {}.",
                    name(), shape.all_ranks(), description(), join(names(), ", ")));
  std::string bind = shape.bind;
  if (!bind.empty() && !pattern.empty()) {
    const auto word = content_.binding.find(bind);
    if (word == content_.binding.end()) {
      std::vector<std::string> valid;
      for (const auto& [value, its_word] : content_.binding) valid.push_back(value);
      throw InputError(explain_unknown_name("binding of the launcher " + name(), bind, valid));
    }
    bind = word->second;
  }
  const std::uint64_t ranks = shape.all_ranks() != 0 ? shape.all_ranks() : shape.nodes;
  return fill(pattern, {{"ranks", number_or_none(ranks == 0 ? 1 : ranks)},
                        {"nodes", number_or_none(shape.nodes)},
                        {"ranks_per_node", number_or_none(shape.ranks_per_node)},
                        {"threads", number_or_none(shape.threads)},
                        {"bind", bind},
                        {"hosts", shape.hosts}});
}

void Launcher::expect_choice_of_nodes(const std::string& flag) const {
  std::vector<std::string> texts;
  add_texts(content_.command, texts);
  if (std::none_of(texts.begin(), texts.end(), [](const std::string& text) {
        return text.find("{hosts}") != std::string::npos;
      }))
    throw InputError(fmt::format(
        "{} cannot be used with the launcher {} (it cannot be told which nodes to use: the command "
        "in {} has no {{hosts}}). Choose another launcher, or add it.",
        flag, name(), file_.string()));
}

std::vector<std::string> Launcher::one_per_node(std::uint64_t nodes) const {
  if (!content_.one_per_node)
    throw InputError(fmt::format(
        "the launcher {} cannot start one process on each node (its file {} has no one_per_node). "
        "Add it, or choose another launcher.",
        name(), file_.string()));
  if (content_.one_per_node->empty() && nodes > 1)
    throw InputError(
        fmt::format("the launcher {} can use one node, not {} ({}). Choose another: {}.", name(),
                    nodes, description(), join(names(), ", ")));
  return fill(*content_.one_per_node, {{"nodes", std::to_string(nodes)}});
}

void Launcher::expect_allocation() const {
  const auto& allocation = content_.allocation;
  if (allocation && std::getenv(allocation->variable.c_str()) == nullptr)
    throw InputError(fmt::format(
        "the launcher {} works only within an allocation of nodes ({} is not set). Get one: {}.",
        name(), allocation->variable, allocation->how));
}

std::vector<std::string> Launcher::list_allocated_nodes(const fs::path& scratch) const {
  const auto unavailable = [](const std::string& why) {
    return CaseError(fmt::format("the names of the allocated nodes are unavailable ({}).", why));
  };
  const Allocation::NodeList list = content_.allocation.value_or(Allocation{}).node_list;
  const std::string variable = list.file.empty() ? list.words : list.file;
  std::string text, source;
  if (!list.command.empty()) {
    source = "`" + join(list.command, " ") + "`";
    constexpr std::chrono::seconds patience(30);
    const FinishedCommand command = finish_command(list.command, scratch, patience);
    if (command.failed()) throw unavailable(source + " " + command.how());
    text = command.output;
  } else if (variable.empty()) {
    return {};
  } else {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) throw unavailable(variable + " is not set");
    source = variable;
    text = value;
    if (!list.file.empty()) {
      source += ", " + text;
      try {
        text = read_text_file(text, largest_hand_written);
      } catch (const InputError& error) {
        throw unavailable(fmt::format("{}: {}", variable, error.what()));
      }
    }
  }
  std::istringstream words(text);
  std::vector<std::string> nodes;  // each name once, because some lists name a node for each of its
                                   // slots
  for (std::string node; words >> node;)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  if (nodes.empty()) throw unavailable(source + " names none");
  return nodes;
}

}  // namespace assay
