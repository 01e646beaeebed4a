#include "analysis/compare/comparable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/compare/verdict.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The time from the first start to the last end of a side's runs. RFC 3339 times in UTC sort as
/// text.
struct Period {
  std::string start, end;
  bool known() const { return !start.empty(); }
};

/// Empty if a run does not report its times.
Period make_period(const Side& side) {
  Period period;
  for (const Side::Source& source : side.results()) {
    const RunHeader& run = source.run();
    if (!run.started || !run.finished) return {};
    if (!period.known() || *run.started < period.start) period.start = *run.started;
    period.end = std::max(period.end, *run.finished);
  }
  return period;
}

void note_order(const Side& first, const Side& second, const std::string& launches,
                std::vector<std::string>& notes) {
  const Period a = make_period(first), b = make_period(second);
  if (!a.known() || !b.known() || (a.end >= b.start && b.end >= a.start)) return;
  notes.push_back(
      launches +
      " were not interleaved: a change of the machine between them looks like a difference (assay "
      "run --against interleaves two builds)");
}

/// `why` and `suggestion` are for the message.
void refuse_same_run(const Side& first, const Side& second, const std::string& why,
                     const std::string& suggestion) {
  for (const Side::Source& a : first.results())
    for (const Side::Source& b : second.results()) {
      const RunHeader &run = a.run(), &other = b.run();
      if (run.id == other.id && run.started == other.started)
        throw InputError(fmt::format("{} is the same run as {}: {} ({}). {}", second.name(),
                                     first.name(), run.id, why, suggestion));
    }
}

/// The order is by each side's own clock. Earlier launches may belong to another state of the
/// build, and may have been chosen for their outcome.
void refuse_early(const Side& screen, const Side& fresh, const std::string& suggestion) {
  const Period before = make_period(screen), after = make_period(fresh);
  if (before.known() && after.known() && after.start < before.end)
    throw InputError(fmt::format(
        "{} began at {}, before the screen {} ended at {} (so its launches are not fresh). {}",
        fresh.name(), after.start, screen.name(), before.end, suggestion));
}

/// Collects differences between two trees.
struct Differences {
  std::vector<Mismatch> all{};
  std::map<std::string, std::set<std::string>> lone{};  ///< fields of one side, by its name

  void note(const std::string& field, const json& base, const json& updated, std::size_t rows) {
    const auto describe_value = [](const json& value) {
      return value.is_discarded() ? json("absent") : value;
    };
    const Mismatch mismatch{field, describe_value(base), describe_value(updated), rows};
    for (Mismatch& known : all)
      if (known.field == field && known.base == mismatch.base &&
          known.updated == mismatch.updated) {
        known.rows += rows;
        return;
      }
    all.push_back(mismatch);
  }

  /// If machines may differ, OS, kernel, C library and drivers may differ, too. The rest of a build
  /// and of a run (Assay, its flags, libraries, settings) must still be equal. Another backend
  /// loads other libraries, and may be another program. So only the fields that both sides have
  /// must be equal; the others are `lone`.
  void add(const std::string& field, const json& base, const json& updated, const Variation& vary,
           std::size_t rows) {
    if (base == updated) return;
    if (vary.other_libraries && (base.is_discarded() || updated.is_discarded())) {
      lone[base.is_discarded() ? "new" : "base"].insert(field);
      return;
    }
    static const std::set<std::string> system_parts{"os",        "kernel", "architecture",
                                                    "container", "libc",   "driver"};
    if (vary.name == "hardware" && system_parts.contains(field.substr(field.rfind('/') + 1)))
      return;
    if (!base.is_object() || !updated.is_object()) return note(field, base, updated, rows);
    static const json absent(json::value_t::discarded);
    std::set<std::string> names;
    for (const json* side : {&base, &updated})
      for (const auto& [name, unused] : side->items()) names.insert(name);
    for (const std::string& name : names) {
      const auto value = [&](const json& side) -> const json& {
        const auto member = side.find(name);
        return member == side.end() ? absent : *member;
      };
      add(field + "/" + name, value(base), value(updated), vary, rows);
    }
  }
};

/// All runs must have the settings of the first run that reports them.
void compare_settings(const Side& base, const Side& updated, const Variation& vary,
                      const std::string& prefix, Differences& differences) {
  std::vector<std::string> names = {
      "seed",        "launcher",         "shapes",    "max_time", "precision_target",
      "min_samples", "reference_budget", "statistics"};
  // Two precisions or backends may be in two suites; their cases are still paired by key.
  if (vary.parameters.empty()) names.insert(names.begin(), {"suite", "suite_hash"});
  std::map<std::string, json> first;
  for (const Side* side : {&base, &updated})
    for (const Side::Source& source : side->results()) {
      if (!source.measured) continue;
      json run = source.run();
      for (const std::string& name : names) {
        const json& value = run[name];
        // Another program may lack this setting.
        if (vary.other_libraries && value.is_null()) continue;
        const json& known = first.emplace(name, value).first->second;
        if (known != value) differences.note(prefix + "run/" + name, known, value, 0);
      }
    }
}

/// Compares the environments of the rows that both sides measured.
void compare_environments(const Side& base, const Side& updated, const Variation& vary,
                          const std::string& prefix, Differences& differences) {
  // The processes of a run load different libraries, so environments are compared row by row; equal
  // pairs of environments are compared once.
  std::map<std::pair<const ResultEnvironment*, const ResultEnvironment*>, std::size_t> pairs;
  for (const auto& [key, row] : base.rows())
    if (const SideRow* other = updated.find(key); other && row.measured() && other->measured())
      ++pairs[{row.environment, other->environment}];
  for (const auto& [pair, rows] : pairs) {
    const auto add = [&, rows = rows](const char* part, json was, json is, bool unknown,
                                      const Variation& meant) {
      if (vary.name == part) return;
      // Peaks come from a table in Assay, so another table does not mean another machine.
      for (json* side : {&was, &is}) side->erase("peaks");
      // Another machine has its own builds of everything.
      if (vary.name == "hardware") was.erase("binaries");
      keep_common_fields(was, is);
      if (unknown) differences.note(prefix + part, "unknown", "unknown", rows);
      differences.add(prefix + part, was, is, meant, rows);
    };
    const auto& [was, is] = pair;
    const EnvironmentHashes &before = was->hashes, &after = is->hashes;
    add("hardware", was->hardware, is->hardware, before.hardware.empty() || after.hardware.empty(),
        "nothing");
    add("software", was->software, is->software,
        !vary.other_libraries && (before.software.empty() || after.software.empty()), vary);
  }
}

}  // namespace

std::vector<std::string> check_runs(const Side& base, const Side& updated, const Side* fresh_base,
                                    const Side* fresh_new, const Variation& vary) {
  constexpr const char *own_twin = "a run always equals itself", *two_runs = "Give two runs.";
  std::vector<std::string> notes;
  // One run may hold both precisions, or both backends.
  const bool by_id = vary.parameters.empty();
  if (by_id) refuse_same_run(base, updated, own_twin, two_runs);
  if (vary.name != "hardware") note_order(base, updated, "the launches of base and new", notes);
  if (fresh_base == nullptr) return notes;
  if (by_id) refuse_same_run(*fresh_base, *fresh_new, own_twin, two_runs);
  if (vary.name != "hardware")
    note_order(*fresh_base, *fresh_new, "the fresh launches of base and new", notes);
  const std::string suggestion = fmt::format(
      "Make fresh launches with `assay run --launches {} --cases FILE`.", fresh_launches);
  for (const Side* screen : {&base, &updated})
    for (const Side* fresh : {fresh_base, fresh_new})
      refuse_same_run(*screen, *fresh,
                      "its rows were flagged because they looked changed, so the same launches "
                      "would always confirm them",
                      suggestion);
  refuse_early(base, *fresh_base, suggestion);
  refuse_early(updated, *fresh_new, suggestion);
  return notes;
}

std::vector<Mismatch> find_mismatches(const Side& base, const Side& updated, const Variation& vary,
                                      const std::string& prefix) {
  Differences differences;
  compare_settings(base, updated, vary, prefix, differences);
  compare_environments(base, updated, vary, prefix, differences);
  return std::move(differences.all);
}

std::string note_lone_software(const Side& base, const Side& updated) {
  constexpr std::size_t most = 4;
  Differences differences;
  compare_environments(base, updated, "backend", "", differences);
  std::vector<std::string> parts;
  for (const auto& [side, fields] : differences.lone) {
    std::vector<std::string> names;
    for (const std::string& field : fields)
      if (field.starts_with("software/")) names.push_back(field.substr(field.find('/') + 1));
    if (names.empty()) continue;
    const std::size_t more = names.size() - std::min(names.size(), most);
    names.resize(names.size() - more);
    parts.push_back(fmt::format("{} alone has {}{}", side, join(names, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  return parts.empty() ? "" : "software: " + join(parts, "; ");
}

std::string describe_software(const RunResult& base, const RunResult& updated) {
  constexpr std::size_t most = 8, longest = 40;
  const auto side = [](RunResult result) {
    for (Row& row : result.rows) keep_for_comparison(row, "", result);
    Results results;
    results.push_back({"", std::move(result)});
    return Side("", std::move(results), "nothing");
  };
  const Side was = side(base), is = side(updated);
  const bool comparable = std::ranges::any_of(was.rows(), [&](const auto& row) {
    const SideRow* other = is.find(row.first);
    return other != nullptr && row.second.measured() && other->measured();
  });
  if (!comparable) return "";
  std::vector<std::string> lines;
  for (const Mismatch& mismatch : find_mismatches(was, is, "nothing", "")) {
    if (!mismatch.field.starts_with("software/")) continue;
    const auto text = [](const nlohmann::json& value) {
      return shorten(value.is_string() ? value.get<std::string>() : value.dump(), longest);
    };
    lines.push_back(fmt::format("software: {}: {} against, {} here",
                                mismatch.field.substr(mismatch.field.find('/') + 1),
                                text(mismatch.base), text(mismatch.updated)));
  }
  if (lines.empty()) return "software: both builds have loaded the same\n";
  std::string all;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) all += visible(lines[i]) + "\n";
  if (lines.size() > most) all += fmt::format("software: and {} more\n", lines.size() - most);
  return all;
}

}  // namespace assay
