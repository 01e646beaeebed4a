#include "analysis/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/result/json_fields.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An entry of "gathered": a run, and the numbers of its environments and brackets.
struct GatheredRun {
  std::vector<std::string> hosts{};
  std::size_t environments = 0, brackets = 0;
  json own_fields{};                    ///< of its header
  json own_of_result = json::object();  ///< of the top of its file, with "system"
};
void visit_fields(GatheredRun& run, FieldReader& fields) {
  fields.always("hosts", run.hosts, "environments", run.environments, "brackets", run.brackets);
  fields.always("of_run", run.own_fields);
  fields.optional("of_result", run.own_of_result);
}

/// Finds members of an object by its text, which is valid JSON.
class MemberFinder {
 public:
  explicit MemberFinder(std::string_view text) : text_(text) {}

  /// The value of a member. Nothing where there is none, or a name is written with escapes.
  std::optional<std::string_view> find(std::string_view name) {
    at_ = 0;
    skip_to('{');
    for (++at_; skip_blanks(), at_ < text_.size() && text_[at_] == '"';) {
      const std::string_view key = skipped_string();
      if (key.find('\\') != std::string_view::npos) return std::nullopt;
      skip_to(':');
      ++at_;
      skip_blanks();
      const std::size_t start = at_;
      skip_value();
      if (key.substr(1, key.size() - 2) == name) return text_.substr(start, at_ - start);
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    return std::nullopt;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \n\r\t", at_), text_.size()); }
  void skip_to(char c) { at_ = std::min(text_.find(c, at_), text_.size()); }

  std::string_view skipped_string() {
    const std::size_t start = at_++;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(start, at_ - start);
  }

  /// A number or a word ends before what follows it, all else with its last byte.
  void skip_value() {
    if (text_[at_] == '"') {
      skipped_string();
    } else if (text_[at_] == '{' || text_[at_] == '[') {
      int depth = 0;
      do {
        const char c = text_[at_];
        if (c == '"') {
          skipped_string();
          continue;
        }
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        ++at_;
      } while (depth > 0 && at_ < text_.size());
    } else {
      at_ = std::min(text_.find_first_of(",]} \n\r\t", at_), text_.size());
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void refuse_counts(const std::string& file, const char* items, std::size_t count,
                   std::size_t expected) {
  if (count != expected)
    throw InputError(
        fmt::format("{} at /run/gathered: found {} {} in all, expected {} (those of the file). "
                    "Gather the results again.",
                    file, count, items, expected));
}

/// Adds to the brackets of a ceiling; whether it has any.
bool shift_brackets(json& ceiling, std::int64_t brackets) {
  if (!ceiling.is_object() || !ceiling.contains("brackets")) return false;
  for (json& place : ceiling["brackets"]) place = place.get<std::int64_t>() + brackets;
  return true;
}

}  // namespace

void shift_indices(json& row, std::int64_t environments, std::int64_t brackets) {
  json& environment = row["environment"];
  environment = environment.get<std::int64_t>() + environments;
  if (brackets != 0 && row.contains("ceiling")) shift_brackets(row["ceiling"], brackets);
}

std::string shifted_text(std::string_view row, std::int64_t environments, std::int64_t brackets) {
  if (environments == 0 && brackets == 0) return std::string(row);
  const auto environment = MemberFinder(row).find("environment");
  const auto ceiling = brackets == 0 ? std::nullopt : MemberFinder(row).find("ceiling");
  if (!environment || (brackets != 0 && !ceiling)) {  // a name with escapes, or a row without
    json whole = json::parse(row);
    shift_indices(whole, environments, brackets);
    return whole.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  std::map<std::size_t, std::pair<std::size_t, std::string>> changes;  // offset → length, new text
  const auto change = [&](std::string_view old, std::string text) {
    changes[static_cast<std::size_t>(old.data() - row.data())] = {old.size(), std::move(text)};
  };
  change(*environment,
         std::to_string(json::parse(*environment).get<std::int64_t>() + environments));
  if (ceiling)
    if (json whole = json::parse(*ceiling); shift_brackets(whole, brackets))
      change(*ceiling, whole.dump(-1, ' ', false, json::error_handler_t::replace));
  std::string shifted;
  std::size_t at = 0;
  for (const auto& [offset, replacement] : changes) {
    shifted += row.substr(at, offset - at);
    shifted += replacement.second;
    at = offset + replacement.first;
  }
  shifted += row.substr(at);
  return shifted;
}

void add_parts(NamedResult named, Results& results) {
  RunResult& whole = named.result;
  const auto field = whole.run.rest.find("gathered");
  if (field == whole.run.rest.end()) {
    results.push_back(std::move(named));
    return;
  }
  std::vector<GatheredRun> gathered;
  fields::Form<std::vector<GatheredRun>>::read(*field, gathered);
  std::vector<json> brackets = std::move(whole.run.brackets);
  whole.run.brackets.clear();
  json run = whole.run;
  run.erase("gathered");
  struct GatheredPart {
    RunResult* result;
    std::size_t environment, bracket;  ///< the first of the part in the gathered result
  };
  std::vector<GatheredPart> parts;
  std::vector<std::size_t> part_of;  // by environment
  std::size_t bracket = 0;
  results.reserve(results.size() + gathered.size());
  for (const GatheredRun& entry : gathered) {
    json own = run;
    own.update(entry.own_fields);
    run.erase("missing_nodes");  // once: it is about all of them
    const std::string host = entry.hosts.empty() ? "no host" : entry.hosts.front();
    NamedResult& part = results.emplace_back(
        NamedResult{fmt::format("{} ({})", named.name, host),
                    {.schema = whole.schema, .run = own, .system = whole.system}});
    part.result.system_details = entry.own_of_result.value("system", whole.system_details);
    part.result.rest = whole.rest;
    part.result.rest.update(entry.own_of_result);
    part.result.rest.erase("system");
    parts.push_back({&part.result, part_of.size(), bracket});
    part_of.insert(part_of.end(), entry.environments, parts.size() - 1);
    for (const std::size_t end = bracket + entry.brackets; bracket < end; ++bracket)
      if (bracket < brackets.size())
        part.result.run.brackets.push_back(std::move(brackets[bracket]));
  }
  refuse_counts(named.name, "environments", part_of.size(), whole.environments.size());
  refuse_counts(named.name, "brackets", bracket, brackets.size());
  for (std::size_t i = 0; i < part_of.size(); ++i)
    parts[part_of[i]].result->environments.push_back(std::move(whole.environments[i]));
  for (Row& row : whole.rows) {
    const GatheredPart& part = parts[part_of[static_cast<std::size_t>(row.environment)]];
    row.environment -= static_cast<int>(part.environment);
    if (row.ceiling)
      for (int& place : row.ceiling->brackets) place -= static_cast<int>(part.bracket);
    part.result->rows.push_back(std::move(row));
  }
}

}  // namespace assay
