#include "analysis/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Where the environments and brackets of a part begin in the gathered result.
struct Start {
  std::size_t environments = 0, brackets = 0;
};

json empty_part(const json& whole, const json& run, const json& part) {
  json made = {{"schema", whole.at("schema")},
               {"system", whole.at("system")},
               {"run", run},
               {"environments", json::array()},
               {"rows", json::array()}};
  made["run"].update(part.at("of_run"));
  return made;
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

void refuse_counts(const std::string& file, const char* what, std::size_t found,
                   std::size_t expected) {
  if (found != expected)
    throw InputError(
        fmt::format("{} at /run/gathered: found {} {} in all, expected {} (those of the file). "
                    "Gather the results again.",
                    file, found, what, expected));
}

}  // namespace

void shift_indices(json& row, std::int64_t environments, std::int64_t brackets) {
  row["environment"] = row["environment"].get<std::int64_t>() + environments;
  if (brackets == 0 || !row.contains("ceiling") || !row["ceiling"].is_object()) return;
  if (const auto places = row["ceiling"].find("brackets"); places != row["ceiling"].end())
    for (json& place : *places) place = place.get<std::int64_t>() + brackets;
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
  if (ceiling && ceiling->starts_with('{')) {
    json shifted = json::parse(*ceiling);
    if (const auto places = shifted.find("brackets"); places != shifted.end()) {
      for (json& place : *places) place = place.get<std::int64_t>() + brackets;
      change(*ceiling, shifted.dump(-1, ' ', false, json::error_handler_t::replace));
    }
  }
  std::string made;
  std::size_t at = 0;
  for (const auto& [offset, replacement] : changes) {
    made += row.substr(at, offset - at);
    made += replacement.second;
    at = offset + replacement.first;
  }
  made += row.substr(at);
  return made;
}

void add_parts(NamedResult named, std::vector<NamedResult>& results) {
  json& whole = named.result;
  if (!whole["run"].contains("gathered")) {
    results.push_back(std::move(named));
    return;
  }
  json run = std::move(whole["run"]);
  const json gathered = std::move(run["gathered"]);
  json bracket = run.value("bracket", json::array());
  run.erase("gathered");
  run.erase("bracket");
  const std::size_t before = results.size();
  std::vector<Start> starts;
  std::vector<std::size_t> part_of;  // by environment
  std::size_t brackets = 0;
  for (const json& part : gathered) {
    const json& hosts = part.at("hosts");
    starts.push_back({part_of.size(), brackets});
    json made = empty_part(whole, run, part);
    run.erase("missing_nodes");  // once: it is about all of them
    part_of.insert(part_of.end(), part.at("environments").get<std::size_t>(), starts.size() - 1);
    const std::size_t end = brackets + part.at("brackets").get<std::size_t>();
    for (; brackets < end && brackets < bracket.size(); ++brackets)
      made["run"]["bracket"].push_back(std::move(bracket[brackets]));
    brackets = end;
    results.push_back({fmt::format("{} ({})", named.name,
                                   hosts.empty() ? "no host" : hosts[0].get<std::string>()),
                       std::move(made)});
  }
  json& environments = whole["environments"];
  refuse_counts(named.name, "environments", part_of.size(), environments.size());
  refuse_counts(named.name, "brackets", brackets, bracket.size());
  for (std::size_t i = 0; i < environments.size(); ++i)
    results[before + part_of[i]].result["environments"].push_back(std::move(environments[i]));
  for (json& row : whole["rows"]) {
    const std::size_t part = part_of[row.at("environment").get<std::size_t>()];
    shift_indices(row, -static_cast<std::int64_t>(starts[part].environments),
                  -static_cast<std::int64_t>(starts[part].brackets));
    results[before + part].result["rows"].push_back(std::move(row));
  }
}

}  // namespace assay
