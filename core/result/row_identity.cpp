#include "core/result/row_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

bool is_digits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// True if `id` has `text` at `at`, and a part of the id ends after it.
bool part_at(const std::string& id, std::size_t at, const std::string& text) {
  return id.compare(at, text.size(), text) == 0 &&
         (at + text.size() == id.size() || id[at + text.size()] == '/');
}

class Identity {
 public:
  Identity(const json& row, const std::string& where)
      : row_(row),
        where_(where),
        benchmark_(row.at("benchmark").get<std::string>()),
        id_(row.at("id").get<std::string>()),
        descriptor_(row.at("problem").at("descriptor").get<std::string>()) {}

  void check() const {
    if (!row_.contains("id_form")) refuse("/id_form: found nothing, expected how the id is made.");
    by_form(row_["id_form"]);
    problem();
    step();
    system();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(where_ + what); }
  [[noreturn]] void refuse_parameter(const std::string& name) const {
    refuse(fmt::format("/parameters/{}: found {}, expected a value of the id {}.", name,
                       row_.at("parameters").value(name, json()).dump(), json(id_).dump()));
  }

  /// The value as the id would write it.
  std::optional<std::string> parameter(const std::string& name) const {
    const json value = row_.at("parameters").value(name, json());
    if (value.is_null()) return std::nullopt;
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  /// The form gives the position of each parameter's value. The id is checked value by value, so
  /// that the message names the parameter that differs.
  void by_form(const std::string& form) const {
    if (!form.starts_with(benchmark_ + "/") && form != benchmark_) refuse_form(form);
    std::size_t at = 0;
    std::vector<std::string> named{"ranks", "nodes"};  // a benchmark without them has one of each
    for (std::size_t i = 0; i < form.size();) {
      const std::size_t open = std::min(form.find_first_of("{[", i), form.size());
      const std::string before = form.substr(i, open - i);
      if (id_.compare(at, before.size(), before) != 0) refuse_id(at, before);
      at += before.size();
      if (open == form.size()) break;
      const std::size_t close = form.find(form[open] == '{' ? '}' : ']', open);
      if (close == std::string::npos) refuse_form(form);
      const std::string inside = form.substr(open + 1, close - open - 1);
      named.push_back(form[open] == '{' ? value(inside, at) : optional(inside, at));
      i = close + 1;
    }
    if (at != id_.size()) refuse_id(at, "");
    for (const auto& [name, value] : row_.at("parameters").items())
      if (std::find(named.begin(), named.end(), name) == named.end())
        refuse(fmt::format("/parameters/{}: found {}, expected a parameter of /id_form.", name,
                           value.dump()));
    // False if each of several ranks had its own problem (a ceiling).
    const bool one_process = row_.at("problem").value("shared_by", json()) != 1;
    for (const char* name : {"ranks", "nodes"})
      if (one_process && form.find(fmt::format("{{{}}}", name)) == std::string::npos &&
          parameter(name).value_or("1") != "1")
        refuse(fmt::format("/parameters/{}: found {}, expected 1 (its ids name no {}).", name,
                           row_.at("parameters").at(name).dump(), name));
  }

  [[noreturn]] void refuse_form(const std::string& form) const {
    refuse(fmt::format("/id_form: found {}, expected \"{}/{{name}}…[/name=value]…\".",
                       json(form).dump(), benchmark_));
  }
  [[noreturn]] void refuse_id(std::size_t at, const std::string& expected) const {
    refuse(fmt::format("/id: found {}, expected {} after {} (as /id_form says).", json(id_).dump(),
                       expected.empty() ? "its end" : json(expected).dump(),
                       json(id_.substr(0, at)).dump()));
  }

  /// "{threads}": checks that the id has its value at `at`.
  std::string value(const std::string& name, std::size_t& at) const {
    const bool is_problem = name == "problem" && !is_operation();
    const std::string text = is_problem ? descriptor_ : parameter(name).value_or("");
    if (!part_at(id_, at, text)) is_problem ? refuse_descriptor() : refuse_parameter(name);
    at += text.size();
    return name;
  }

  /// True if the row is about one operation of the id's problem. The problem is then a parameter,
  /// and another parameter names the operation ("moments"), with which the descriptor begins
  /// ("moments:n10001d250").
  bool is_operation() const {
    const std::string operation = descriptor_.substr(0, descriptor_.find(':'));
    const json& all = row_.at("parameters");
    return operation != descriptor_ && all.contains("problem") &&
           std::any_of(all.begin(), all.end(),
                       [&](const json& value) { return value == operation; });
  }

  /// "[/layout=any]": checks that the id has "/layout=nhwc" at `at`, or omits the layout if it is
  /// "any".
  std::string optional(const std::string& inside, std::size_t& at) const {
    const std::size_t equals = inside.find('=');
    const std::string name = inside.substr(std::min<std::size_t>(inside.size(), 1), equals - 1);
    if (equals == std::string::npos) return name;
    const std::string text = parameter(name).value_or(""), there = "/" + name + "=";
    if (text == inside.substr(equals + 1)) {
      if (id_.compare(at, there.size(), there) == 0) refuse_parameter(name);
      return name;
    }
    if (!part_at(id_, at, there + text)) refuse_parameter(name);
    at += there.size() + text.size();
    // A value may contain slashes: "scale=1" must not match "/scale=1/16".
    if (at < id_.size() &&
        id_.substr(at, id_.find('/', at + 1) - at).find('=') == std::string::npos)
      refuse_parameter(name);
    return name;
  }

  /// The names of the parameters that identify a step of training must be parameters of the row.
  void step() const {
    for (const json& name : row_.value("step_parameters", json::array()))
      if (name != "problem" && !row_.at("parameters").contains(name.get<std::string>()))
        refuse(fmt::format("/step_parameters: found {}, expected names of parameters, or problem.",
                           name.dump()));
  }

  /// The names of the parameters that may differ in a comparison must be parameters of the row.
  void system() const {
    const auto names = row_.find("system_parameters");
    if (names == row_.end()) return;
    for (const json& name : *names)
      if (!row_.at("parameters").contains(name.get_ref<const std::string&>()))
        refuse(fmt::format("/system_parameters: found {}, expected names of parameters.",
                           name.dump()));
  }

  [[noreturn]] void refuse_descriptor() const {
    refuse(fmt::format("/problem/descriptor: found {}, expected the problem of the id {}.",
                       json(descriptor_).dump(), json(id_).dump()));
  }

  void expect(const char* name, const json& expected, const char* origin) const {
    const json& actual = row_.at("problem").at(name);
    if (actual != expected)
      refuse(fmt::format("/problem/{}: found {}, expected {} ({}).", name, actual.dump(),
                         expected.dump(), origin));
  }

  void problem() const {
    const json& problem = row_.at("problem");
    extents();
    if (problem.contains("ranks") && parameter("ranks"))
      expect("ranks", row_.at("parameters").at(is_grouped() ? "groups" : "ranks"),
             "/parameters/ranks, or groups");
    // A descriptor with only digits is a size in bytes.
    if (is_digits(descriptor_) && problem.contains("bytes"))
      expect("bytes", json::parse(descriptor_), "the descriptor");
  }

  /// True if each of several groups of ranks solves the whole problem.
  bool is_grouped() const {
    const json& parameters = row_.at("parameters");
    return parameters.contains("groups") && parameters.at("groups").is_number() &&
           parameters.at("groups") != 0;
  }

  /// Checks members of the problem against the descriptor: for "mb16ic64", mb is 16 and ic is 64.
  void extents() const {
    for (std::size_t at = 0; at < descriptor_.size();) {
      const auto run = [&](auto belongs) {
        const std::size_t from = at;
        while (at < descriptor_.size() && belongs(static_cast<unsigned char>(descriptor_[at])))
          ++at;
        return descriptor_.substr(from, at - from);
      };
      const std::string name = run([](unsigned char c) { return std::islower(c) != 0; });
      const std::string digits = run([](unsigned char c) { return std::isdigit(c) != 0; });
      if (name.empty() && digits.empty()) ++at;
      if (const std::size_t from = at; !digits.empty() && is_fraction(from)) {
        at = std::min(descriptor_.find_first_not_of("0123456789.e+-", from), descriptor_.size());
        continue;  // "alpha0.5" is not a count
      }
      // A double cannot hold longer counts.
      if (name.empty() || digits.empty() || digits.size() > 15) continue;
      if (row_.at("problem").contains(name))
        expect(name.c_str(), std::stoll(digits), "the descriptor");
    }
  }

  /// True if what follows digits continues their number: ".5", "e-05".
  bool is_fraction(std::size_t at) const {
    const std::string rest = descriptor_.substr(at, 2);
    return rest.starts_with('.') ||
           (rest.size() == 2 && rest[0] == 'e' &&
            std::string("+-0123456789").find(rest[1]) != std::string::npos);
  }

  const json& row_;
  const std::string& where_;
  std::string benchmark_, id_;
  std::string descriptor_;
};

}  // namespace

void check_identity(const json& row, const std::string& where) { Identity(row, where).check(); }

void check_allocator(const json& row, const json& environment, const std::string& where) {
  const json allocator = row.at("parameters").value("allocator", json("system"));
  static const json::json_pointer place("/software/libraries/allocator/name");
  // A program that never loads allocators records none.
  if (allocator == "system" && !environment.contains(place)) return;
  const json loaded = environment.contains(place) ? environment.at(place) : json();
  if (allocator != loaded)
    throw InputError(
        fmt::format("{}/parameters/allocator: found {}, expected {} (what the process of the row "
                    "had loaded, as its environment says).",
                    where, allocator.dump(), loaded.dump()));
}

void check_equal_parameters(const json& row, const json& first, const std::string& where) {
  const std::string form = row.value("id_form", "");
  const json of_system = row.value("system_parameters", json::array());
  for (const auto& [name, value] : row.at("parameters").items()) {
    const bool says_nothing =
        form.find("[/" + name + "]") != std::string::npos &&
        std::find(of_system.begin(), of_system.end(), name) != of_system.end();
    if (says_nothing) continue;  // the path of a checkpoint
    const json expected = first.at("parameters").value(name, value);
    if (value != expected)
      throw InputError(
          fmt::format("{}/parameters/{}: found {}, expected {} (another row of its id has that).",
                      where, name, value.dump(), expected.dump()));
  }
}

}  // namespace assay
