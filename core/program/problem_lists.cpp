// Lists of problems (suites/problems/<benchmark>/<list>.json) and what their names stand for.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/suite.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path lists_folder(const std::string& benchmark) {
  return data_folder("suites") / "problems" / benchmark;
}

/// A descriptor's fields ("mb16ic64alpha-0.5" → mb16, ic64, alpha-0.5; "mlp:w64" → mlp:, w64); a
/// text that is not a field stays in one piece, so that the benchmark's message can quote it.
std::vector<std::string> fields(const std::string& descriptor) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < descriptor.size();) {
    std::size_t end = at;
    const auto is_digit = [&](std::size_t i) {
      return i < descriptor.size() && std::isdigit(static_cast<unsigned char>(descriptor[i])) != 0;
    };
    while (end < descriptor.size() && !is_digit(end) && descriptor[end] != ':') ++end;
    while (is_digit(end)) ++end;
    if (end < descriptor.size() && descriptor[end] == ':') ++end;
    if (end > at && is_digit(end - 1) && end < descriptor.size() && descriptor[end] == '.' &&
        is_digit(end + 1))
      for (++end; is_digit(end);) ++end;
    pieces.push_back(descriptor.substr(at, end - at));
    at = end;
  }
  return pieces;
}

/// The text before a field's value; a sign belongs to the value.
std::string field_name(const std::string& field) {
  const std::string before = field.substr(0, field.find_first_of("0123456789"));
  const bool negative = before.size() > 1 && before.size() < field.size() && before.back() == '-';
  return negative ? before.substr(0, before.size() - 1) : before;
}

/// `descriptor` with the fields of `others` added. If a field is in both, `replace` decides if that
/// of `others` is used.
std::string with_fields(const std::string& descriptor, const std::string& others, bool replace) {
  std::vector<std::string> mine = fields(descriptor);
  for (const std::string& other : fields(others)) {
    const auto same = std::find_if(mine.begin(), mine.end(), [&](const std::string& field) {
      return field_name(field) == field_name(other);
    });
    if (same == mine.end())
      mine.push_back(other);
    else if (replace)
      *same = other;
  }
  return join(mine, "");
}

NamedProblem make_named_problem(const Benchmark& benchmark, const json& list,
                                const std::string& list_name, const json& problem,
                                const std::string& overrides) {
  std::string text = problem.at("descriptor");
  text = with_fields(text, list.value("defaults", ""), false);
  text = with_fields(text, overrides, true);
  std::string name = list_name + "/" + problem.at("name").get<std::string>();
  try {
    return {benchmark.canonical(text), std::move(name)};
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} ('{}'): {}", name, problem.at("descriptor").get<std::string>(),
                                 error.what()));
  }
}

/// Gives each problem its share of the whole that the list describes. Equal problems are one case,
/// which has the repeats of all.
void add_parts(std::vector<NamedProblem>& problems, const json& list, const std::string& shown_as) {
  const auto repeat = [&](std::size_t i) { return list.at("problems")[i].value("repeat", 1); };
  std::map<std::string, int> repeats;
  int all = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    repeats[problems[i].descriptor] += repeat(i);
    all += repeat(i);
  }
  for (NamedProblem& problem : problems)
    problem.part = ListShare{shown_as, list.at("whole"), repeats[problem.descriptor], all};
}

/// InputError unless the text after '@' is fields with values. The message names the override, not
/// the descriptor that it would have changed.
void check_overrides(const std::string& text, const std::string& overrides) {
  const std::string where = " (in '" + text + "'). Give fields with values, like @mb32.";
  if (overrides.empty()) throw InputError("nothing follows @" + where);
  for (const std::string& field : fields(overrides)) {
    const std::string name = field_name(field);
    if (name == field) throw InputError("'" + field + "' after @ has no value" + where);
    if (name.empty()) throw InputError("'" + field + "' after @ has no name" + where);
    if (!std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c == '_' || std::isalpha(c) != 0; }))
      throw InputError("'" + field + "' after @ is not a field" + where);
  }
}

/// A list of problems, and the part of it that a text names.
struct ListRequest {
  std::string list;       ///< its name
  std::string problem;    ///< "": all of them
  std::string overrides;  ///< fields
};

std::vector<NamedProblem> list_problems(const Benchmark& benchmark, const json& list,
                                        const ListRequest& request, const std::string& shown_list) {
  std::vector<NamedProblem> problems;
  std::vector<std::string> names;
  for (const json& problem : list.at("problems")) {
    names.push_back(problem.at("name"));
    if (request.problem.empty() || request.problem == names.back())
      problems.push_back(
          make_named_problem(benchmark, list, request.list, problem, request.overrides));
  }
  if (problems.empty())
    throw InputError(
        explain_unknown_name("problem of list '" + request.list + "':", request.problem, names) +
        " See `assay-" + benchmark.name() + " --problem " + shown_list + " --list`.");
  if (request.problem.empty() && list.contains("whole"))
    add_parts(problems, list,
              request.list + (request.overrides.empty() ? "" : "@" + request.overrides));
  return problems;
}

/// The problems of a file that the caller names. Its list must not have the name of a shipped list,
/// whose rows it would seem to have.
std::vector<NamedProblem> problems_of_file(const Benchmark& benchmark, const fs::path& file,
                                           const ListRequest& request) {
  const json list = read_checked(file, "problems");
  const std::string name = list.at("name"), own = list.at("benchmark");
  if (own != benchmark.name())
    throw InputError(fmt::format("{} has problems of {} (/benchmark), not of {}. Use assay-{}.",
                                 file.string(), own, benchmark.name(), own));
  const std::vector<std::string> shipped = list_problem_lists(benchmark.name());
  std::error_code none;
  if (std::find(shipped.begin(), shipped.end(), name) != shipped.end() &&
      !fs::equivalent(file, lists_folder(benchmark.name()) / (name + ".json"), none))
    throw InputError(fmt::format(
        "{} has the name of a shipped list, {} (/name), for which its rows would be taken. Give it "
        "another name.",
        file.string(), name));
  return list_problems(benchmark, list, {name, request.problem, request.overrides}, file.string());
}

}  // namespace

std::size_t end_of_file_name(const std::string& problem) {
  constexpr std::string_view ending = ".json";
  for (std::size_t at = problem.find(ending); at != std::string::npos;
       at = problem.find(ending, at + 1)) {
    const std::size_t end = at + ending.size();
    if (end == problem.size() || problem[end] == '@') return end;
    std::error_code none;  // a folder may also have such a name
    if (problem[end] == '/' && !fs::is_directory(problem.substr(0, end), none)) return end;
  }
  return std::string::npos;
}

bool is_beside_suite(const std::string& problem) {
  return problem.starts_with("./") || problem.starts_with("../");
}

std::vector<std::string> list_problem_lists(const std::string& benchmark) {
  return list_json_names(lists_folder(benchmark));
}

std::vector<NamedProblem> find_problems(const Benchmark& benchmark, const std::string& text) {
  const std::size_t file_end = end_of_file_name(text);
  const bool in_file = file_end != std::string::npos;
  const std::size_t at = text.find('@', in_file ? file_end : 0);
  const std::string overrides = at == std::string::npos ? "" : text.substr(at + 1);
  const std::string what = text.substr(0, at);
  if (at != std::string::npos) check_overrides(text, overrides);
  if (what.ends_with('/'))
    throw InputError("nothing follows / (in '" + text +
                     "'). Name a problem of the list, or leave / out for all of them.");
  if (in_file) {
    const bool whole = file_end == what.size();
    return problems_of_file(benchmark, what.substr(0, file_end),
                            {"", whole ? "" : what.substr(file_end + 1), overrides});
  }
  const std::string list_name = what.substr(0, what.find('/'));
  const std::vector<std::string> lists = list_problem_lists(benchmark.name());
  if (std::find(lists.begin(), lists.end(), list_name) == lists.end()) {
    // Descriptors and names of lists may both have digits. A text that is near to a list's name
    // counts as a misspelling.
    const std::string near = find_nearest(list_name, lists);
    try {
      std::vector<NamedProblem> described;
      for (const std::string& descriptor :
           benchmark.descriptors(with_fields(what, overrides, true)))
        described.push_back({benchmark.canonical(descriptor), ""});
      return described;
    } catch (const InputError& error) {
      // A word without digits may be the name of a missing list.
      const bool word = list_name.find_first_of("0123456789") == std::string::npos;
      if (near.empty() && (!word || lists.empty())) throw;
      throw InputError(explain_unknown_name("problem or list of problems", list_name, lists) +
                       " (As a descriptor: " + error.what() + ")");
    }
  }
  const json list =
      read_checked(lists_folder(benchmark.name()) / (list_name + ".json"), "problems");
  const std::string problem = what == list_name ? "" : what.substr(list_name.size() + 1);
  return list_problems(benchmark, list, {list_name, problem, overrides}, list_name);
}

}  // namespace assay
