#include "core/program/suite.hpp"
#include "core/base/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/threads.hpp"
#include "core/program/allocator.hpp"
#include "core/program/conform.hpp"
#include "core/program/options.hpp"
#include "core/program/unused_values.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Wrong values of one dimension. For a suite, the message's pointer contains the dimension.
class DimensionError final : public InputError {
 public:
  DimensionError(std::string name, const std::string& what)
      : InputError(what), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Runs `body` and attributes its faults to the dimension `name`.
template <class Body>
void run_for(const std::string& name, Body body) {
  try {
    body();
  } catch (const InputError& error) {
    throw DimensionError(name, error.what());
  } catch (const fs::filesystem_error& error) {  // the value is too long for a file name
    throw DimensionError(name, fmt::format("'{}' is not a possible name ({}). Give another value.",
                                           error.path1().string(), error.code().message()));
  }
}

/// The dimension that a message is about: `word` if its values were given; else the given dimension
/// whose value the message quotes (values may have been combined, or read later); "" if there is
/// none.
std::string find_blamed_dimension(const std::string& message, const std::string& word,
                                  const std::map<std::string, std::vector<std::string>>& words) {
  if (words.contains(word)) return word;
  std::string name;
  std::size_t longest = 0;
  for (const auto& [axis, values] : words)
    for (const std::string& value : values)
      // A single digit or letter would be found in most messages.
      if (value.size() > longest && (value.size() > 1 || std::isalnum(value[0]) == 0) &&
          message.find(value) != std::string::npos) {
        longest = value.size();
        name = axis;
      }
  return name;
}

std::string check_threads(const std::string& text) {
  const auto count = parse_number<int>(text);
  const ThreadLimit limit = thread_limit();
  if (!count || *count < 1 || *count > limit.most)
    throw InputError(
        fmt::format("'{}' is not a possible number of threads (1 to {}: {}). This process may "
                    "use {} processors.",
                    text, limit.most, limit.what, processors()));
  return std::to_string(*count);
}

/// The checked values of one axis, without problems. `named`: the plugins that the cases name.
std::vector<std::string> check_values(const Dimension& axis, const std::vector<std::string>& words,
                                      const std::string& benchmark, Plugins& plugins,
                                      const std::vector<std::string>& named) {
  std::vector<std::string> values;
  for (const std::string& value : words) {
    std::vector<std::string> valid = axis.values;
    if (axis.traits.plugin)  // known ones that were not built are valid, but unsupported
      for (const std::string& name : plugins.names())
        if (std::find(valid.begin(), valid.end(), name) == valid.end()) valid.push_back(name);
    const std::vector<std::string>& every = axis.every.empty() ? axis.values : axis.every;
    if (value == "all" && !every.empty() &&
        std::find(valid.begin(), valid.end(), value) == valid.end()) {
      for (const std::string& value : every)
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
      continue;
    }
    if (axis.name == "threads") {
      // A default that is not a number is computed by the benchmark.
      const bool is_default =
          !parse_number<int>(value) &&
          std::find(axis.defaults.begin(), axis.defaults.end(), value) != axis.defaults.end();
      values.push_back(is_default ? value : check_threads(value));
      continue;
    }
    bool known = valid.empty() || std::find(valid.begin(), valid.end(), value) != valid.end();
    if (!known && axis.name == "algorithm") {
      // A backend may add algorithms without editing a list. Only the named backends are opened,
      // because loading other libraries may affect the process and its measurements.
      for (const std::string& name : named) {
        const Result<Backend*> backend = plugins.open(name);
        if (const auto* usable = std::get_if<Backend*>(&backend))
          for (const std::string& algorithm : (*usable)->algorithms(benchmark))
            if (std::find(valid.begin(), valid.end(), algorithm) == valid.end())
              valid.push_back(algorithm);
      }
      known = std::find(valid.begin(), valid.end(), value) != valid.end();
    }
    if (!known) {
      // Backends of other operations are refused with a reason, so they are not suggested for a
      // misspelling.
      std::erase_if(valid, [&](const std::string& name) {
        return axis.traits.plugin && dimension::is_known_backend(name) &&
               std::find(axis.values.begin(), axis.values.end(), name) == axis.values.end();
      });
      throw InputError(explain_unknown_name(axis.name, value, valid) +
                       (axis.traits.plugin
                            ? " Install a backend of your own, or name its folder in "
                              "ASSAY_PLUGIN_PATH."
                            : ""));
    }
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

/// Allows one value of a dimension that is not in the id, because cases that differ only in it
/// would be one case.
void expect_one(const Dimension& axis, const std::vector<std::string>& values) {
  if (axis.traits.in_id || values.size() < 2) return;
  throw InputError(
      fmt::format("--{} has one value, but {} are given ({}; commas separate values). Give one.",
                  format_flag_name(axis), values.size(), join(values, " and ")));
}

constexpr std::uint64_t most_of_field = std::uint64_t{1} << 40;  // problems limit it further

/// Adds each combination of the given fields (`Dimension::field`) to the given problems. Without a
/// problem, the fields alone are one.
void take_fields_into_problems(const std::vector<Dimension>& axes,
                               std::map<std::string, std::vector<std::string>>& values_by_axis) {
  std::vector<std::string> fields{""};
  for (const Dimension& axis : axes) {
    const auto values = values_by_axis.find(axis.name);
    if (axis.field.empty() || values == values_by_axis.end()) continue;
    std::vector<std::string> more;
    for (const std::string& before : fields)
      for (const std::string& value : values->second) {
        run_for(axis.name, [&] {
          more.push_back(fmt::format("{}{}{}", before, axis.field,
                                     whole_number(axis.name, value, 1, most_of_field)));
        });
      }
    fields = std::move(more);
  }
  if (fields.front().empty()) return;
  const auto [problems, alone] = values_by_axis.try_emplace("problem", fields);
  if (alone) return;
  std::vector<std::string> all;
  for (const std::string& problem : problems->second)
    for (const std::string& field : fields)
      all.push_back(problem + (problem.find('@') == std::string::npos ? "@" : "") + field);
  problems->second = std::move(all);
}

/// The values of `chosen`, whose keys may be any name of a dimension, by the dimension's own name.
std::map<std::string, std::vector<std::string>> by_dimension(
    const Benchmark& benchmark, const std::vector<Dimension>& axes,
    const std::map<std::string, std::vector<std::string>>& chosen) {
  std::map<std::string, std::string> axis_by_name;  // by each of its names
  std::vector<std::string> axis_names;
  for (const Dimension& axis : axes)
    for (const std::string& name : axis.names())
      if (!axis.traits.determined && axis_by_name.emplace(name, axis.name).second)
        axis_names.push_back(name);
  std::map<std::string, std::vector<std::string>> values_by_axis;
  for (const auto& [name, values] : chosen) {
    const auto axis = axis_by_name.find(name);
    if (axis == axis_by_name.end())
      throw DimensionError(
          name, explain_unknown_name("dimension of " + benchmark.name(), name, axis_names));
    std::vector<std::string>& all = values_by_axis[axis->second];
    all.insert(all.end(), values.begin(), values.end());
  }
  return values_by_axis;
}

/// Makes names of files of problems relative to the suite that names them: "./mine.json/conv1".
void find_beside(const fs::path& folder, std::vector<std::string>& problems) {
  for (std::string& problem : problems)
    if (is_beside_suite(problem)) problem = (folder / problem).string();
}

/// One case for each problem that the texts denote, without other settings.
std::vector<Case> expand_cases(const Benchmark& benchmark, const std::vector<std::string>& texts) {
  std::vector<Case> cases;
  for (const std::string& text : texts)
    for (NamedProblem& problem : find_problems(benchmark, text)) {
      Case& benchmark_case = cases.emplace_back();
      benchmark_case.settings["problem"] = problem.descriptor;
      if (!problem.name.empty()) benchmark_case.names.push_back(problem.name);
      if (problem.part) benchmark_case.parts.push_back(std::move(*problem.part));
    }
  return cases;
}

}  // namespace

json read_suite(const fs::path& file) { return read_checked(file, "suite"); }

std::vector<std::string> texts_in(const json& document) {
  std::vector<std::string> texts;
  const json flat = document.flatten();
  for (const auto& [pointer, value] : flat.items())
    if (value.is_string()) texts.push_back(value);
  return texts;
}

std::vector<std::string> list_suite_names() {
  std::vector<std::string> names;
  for (const std::string& name : list_json_names(data_folder("suites"))) {
    try {
      const json document = read_json(data_folder("suites") / (name + ".json"));
      if (document.is_object() && document.value("schema", json()) == "assay-criteria/1") continue;
    } catch (const InputError&) {
      // The reader of the file reports its faults.
    }
    names.push_back(name);
  }
  return names;
}

fs::path find_suite(const std::string& name) {
  if (fs::exists(name) && !fs::is_directory(name)) return name;  // reading it reports faults
  const fs::path shipped = data_folder("suites") / (name + ".json");
  if (fs::is_regular_file(shipped)) return shipped;
  throw InputError(explain_unknown_name("suite", name, list_suite_names()) +
                   " A suite is a JSON file or the name of one in " +
                   data_folder("suites").string() + ".");
}

bool is_about_group(const std::string& key) {
  return key == "benchmark" || key == "required" || key == "tolerance" || key == "comment" ||
         key == "note" || key == "search";
}

std::vector<std::string> suite_benchmarks(const json& suite) {
  std::vector<std::string> names;
  for (const json& group : suite.at("cases")) {
    const std::string name = group.at("benchmark");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

namespace {

std::vector<Case> expand_dimensions(const Benchmark& benchmark,
                                    const std::map<std::string, std::vector<std::string>>& chosen,
                                    Plugins& plugins, bool required, const RankCount& started,
                                    UnusedValues unused) {
  const std::vector<Dimension> axes = all_dimensions(benchmark);
  std::map<std::string, std::vector<std::string>> values_by_axis =
      by_dimension(benchmark, axes, chosen);
  const auto asked_by_name = values_by_axis;
  take_fields_into_problems(axes, values_by_axis);
  std::string note;
  run_for("conform", [&] { note = add_prescribed(benchmark.name(), values_by_axis); });
  std::vector<Case> cases(1);
  const auto multiply = [&](const std::string& name, const std::vector<std::string>& values) {
    std::vector<Case> product;
    for (const Case& benchmark_case : cases)
      for (const std::string& value : values) {
        product.push_back(benchmark_case);
        product.back().settings[name] = value;
      }
    cases = std::move(product);
  };
  auto list_values = [&](const Dimension& axis) {
    const auto entry = values_by_axis.find(axis.name);
    return entry == values_by_axis.end() || entry->second.empty() ? axis.defaults : entry->second;
  };
  // Problems vary slowest, so that rows of one problem are adjacent.
  for (const Dimension& axis : axes)
    if (axis.name == "problem")
      run_for(axis.name, [&] { cases = expand_cases(benchmark, list_values(axis)); });
  std::vector<std::string> named;
  for (const Dimension& axis : axes)
    if (axis.name == "backend" || axis.traits.plugin)
      for (const std::string& name : list_values(axis)) named.push_back(name);
  for (const Dimension& axis : axes)
    if (axis.name != "problem" && !axis.traits.determined && axis.field.empty())
      run_for(axis.name, [&] {
        const auto values = check_values(axis, list_values(axis), benchmark.name(), plugins, named);
        expect_one(axis, values);
        multiply(axis.name, values);
      });
  const std::string form = make_id_form(benchmark.name(), axes);
  std::vector<std::string> one_per_process;
  for (const Dimension& axis : axes)
    if (axis.traits.one_per_process) one_per_process.push_back(axis.name);
  const std::vector<std::string> of_system = system_parameters(axes);
  std::vector<Settings> before;
  for (Case& benchmark_case : cases) {
    before.push_back(benchmark_case.settings);
    benchmark_case.required = required;
    benchmark_case.note = note;
    benchmark_case.typed = benchmark.complete(benchmark_case.settings, started);
    benchmark_case.id = make_id(benchmark.name(), axes, benchmark_case.settings);
    benchmark_case.id_form = form;
    benchmark_case.one_per_process = one_per_process;
    benchmark_case.system_parameters = of_system;
    benchmark_case.step_parameters = benchmark.step_parameters(benchmark_case);
  }
  if (unused == UnusedValues::refused)
    refuse_unused(benchmark, axes, asked_by_name, started, before, cases);
  return merge_equal(std::move(cases));
}

}  // namespace

std::vector<Case> expand(const Benchmark& benchmark,
                         const std::map<std::string, std::vector<std::string>>& chosen,
                         Plugins& plugins, bool required, const RankCount& started,
                         UnusedValues unused) {
  const auto make_error = [&](const InputError& error, const std::string& axis) -> DimensionError {
    const std::string message = error.what(), name = find_blamed_dimension(message, axis, chosen);
    if (unused == UnusedValues::left_out) return {name.empty() ? axis : name, message};
    // Messages about a command line name the flag; messages about a suite name the key by a
    // pointer.
    for (const Dimension& dimension : all_dimensions(benchmark))
      if (dimension.name == name &&
          message.find("--" + format_flag_name(dimension)) == std::string::npos)
        return {name, fmt::format("--{}: {}", format_flag_name(dimension), message)};
    return {name, message};
  };
  try {
    return expand_dimensions(benchmark, chosen, plugins, required, started, unused);
  } catch (const DimensionError& error) {
    throw make_error(error, error.name());
  } catch (const InputError& error) {
    throw make_error(error, "");
  }
}

std::vector<std::string> list_plugins(const Benchmark& benchmark, const Settings& settings) {
  std::vector<std::string> names;
  for (const Dimension& axis : all_dimensions(benchmark)) {
    const auto value = settings.find(axis.name);
    // `auto` needs no particular plugin. The row names the chosen one.
    if (axis.traits.plugin && value != settings.end() && value->second != "auto")
      names.push_back(value->second);
  }
  return names;
}

json case_list(const Benchmark& benchmark, const std::vector<Case>& cases) {
  json list = json::array();
  for (Case listed : cases) {
    listed.working_sets = benchmark.working_sets(listed);
    list.push_back(listed);
    list.back()["plugins"] = list_plugins(benchmark, listed.settings);
  }
  return list;
}

namespace {

/// Checks the values of a search space ("search"), from which `assay run --ensemble` will draw: all
/// values of each dimension, together with the first value of every other one. DimensionError
/// "search/NAME".
void check_space(const Benchmark& benchmark, const json& space, Plugins& plugins,
                 const RankCount& started,
                 const std::map<std::string, std::vector<std::string>>& chosen) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [name, words] : space.items())
    for (const json& value : words.is_array() ? words : words.front())
      values[name].push_back(value.is_string() ? value.get<std::string>() : value.dump());
  for (const auto& [name, all] : values) {
    auto member = chosen;
    for (const auto& [other, its] : values) member[other] = {its.front()};
    member[name] = all;
    try {
      expand(benchmark, member, plugins, false, started);
    } catch (const DimensionError& error) {
      throw DimensionError("search/" + (error.name().empty() ? name : error.name()), error.what());
    }
  }
}

}  // namespace

std::vector<Case> expand_suite(const Benchmark& benchmark, const json& suite,
                               const std::string& shown_as, Plugins& plugins,
                               const RankCount& started,
                               const std::map<std::string, std::vector<std::string>>& over) {
  std::vector<Case> cases;
  std::size_t index = 0;
  for (const json& group : suite.at("cases")) {
    const std::string pointer = fmt::format("{} at /cases/{}", shown_as, index++);
    if (group.at("benchmark") != benchmark.name()) continue;
    std::map<std::string, std::vector<std::string>> chosen;
    for (const auto& [key, value] : group.items()) {
      if (is_about_group(key)) continue;
      const json list = value.is_array() ? value : json::array({value});
      for (const json& item : list)
        chosen[key].push_back(item.is_string() ? item.get<std::string>() : item.dump());
      if (key == "problem") find_beside(fs::path(shown_as).parent_path(), chosen[key]);
    }
    for (const auto& [name, values] : over) chosen[name] = values;
    try {
      if (const auto space = group.find("search"); space != group.end())
        check_space(benchmark, *space, plugins, started, chosen);
      const json tolerance = group.value("tolerance", suite.value("tolerance", json()));
      for (Case& benchmark_case :
           expand(benchmark, chosen, plugins, group.value("required", false), started)) {
        if (tolerance.is_number()) benchmark_case.tolerance = tolerance.get<double>();
        benchmark_case.note = group.value("note", benchmark_case.note);
        cases.push_back(std::move(benchmark_case));
      }
    } catch (const DimensionError& error) {
      throw InputError(pointer + (error.name().empty() ? "" : "/") + error.name() + ": " +
                       error.what());
    } catch (const InputError& error) {
      throw InputError(pointer + ": " + error.what());
    }
  }
  return merge_equal(std::move(cases));
}

}  // namespace assay
