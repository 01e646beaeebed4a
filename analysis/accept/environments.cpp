// Compares the nodes of a fleet: hardware, software and numbers of threads.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "analysis/accept/limits.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

using enum NodeVerdict;

/// The values of a tree by their paths ("libraries/onednn/instruction_set"). A list counts as one
/// value.
using Fields = std::map<std::string, json>;

void add_fields(const json& tree, const std::string& path, Fields& fields) {
  if (!tree.is_object()) {
    if (!tree.is_null()) fields[path] = tree;
    return;
  }
  for (const auto& [key, value] : tree.items())
    add_fields(value, path.empty() ? key : path + "/" + key, fields);
}

Fields flatten_fields(const json& tree) {
  Fields fields;
  add_fields(tree, "", fields);
  return fields;
}

/// A difference between a node and most nodes; null if one of them lacks the field.
struct Difference {
  std::string field;
  json own, common;
};

std::vector<Difference> differences(const Fields& own, const Fields& common) {
  std::vector<Difference> all;
  for (const auto& [field, value] : own) {
    const auto other = common.find(field);
    if (other == common.end() || other->second != value)
      all.push_back({field, value, other == common.end() ? json() : other->second});
  }
  for (const auto& [field, value] : common)
    if (!own.contains(field)) all.push_back({field, json(), value});
  return all;
}

std::string value_text(const json& value) {
  if (value.is_null()) return "absent";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

constexpr const char* of_switches = "switches/";
constexpr const char* of_libraries = "libraries/";
constexpr const char* of_binaries = "binaries/";

std::string library_name(const std::string& key) { return key == "onednn" ? "oneDNN" : key; }

/// "ONEDNN_MAX_CPU_ISA=AVX2 was set" for an environment variable.
std::string format_setting(const Difference& difference) {
  const std::string name = difference.field.substr(std::string(of_switches).size());
  if (difference.own.is_null())
    return fmt::format("{}={} was set elsewhere", name, value_text(difference.common));
  if (difference.common.is_null())
    return fmt::format("{}={} was set", name, value_text(difference.own));
  return fmt::format("{}={} was set, elsewhere {}", name, value_text(difference.own),
                     value_text(difference.common));
}

/// The environment variables that differ and begin with the library's name.
std::string describe_settings(const std::string& library, const std::vector<Difference>& all) {
  std::string prefix = of_switches;
  for (const char c : library)
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text;
  for (const Difference& difference : all)
    if (difference.field.starts_with(prefix))
      text += (text.empty() ? " (" : ", ") + format_setting(difference);
  return text.empty() ? "" : text + ")";
}

/// The text of a difference for people.
std::string describe_difference(const Difference& difference, const std::vector<Difference>& all) {
  const std::string& field = difference.field;
  if (field.starts_with(of_switches)) return format_setting(difference);
  const std::vector<std::string> parts = split(field, '/');
  const std::string own = value_text(difference.own), common = value_text(difference.common);
  const bool of_library = field.starts_with(of_libraries) && parts.size() == 3;
  if (of_library && parts[2] == "instruction_set")
    return fmt::format("{} used {}, elsewhere {}{}", library_name(parts[1]), own, common,
                       describe_settings(parts[1], all));
  if (of_library && (parts[2] == parts[1] || parts[2] == "version"))
    return fmt::format("{} {}, elsewhere {}", library_name(parts[1]), own, common);
  std::string words = join(parts, " ");
  std::replace(words.begin(), words.end(), '_', ' ');
  return fmt::format("{}: {}, elsewhere {}", words, own, common);
}

/// The rank of a difference: the differences that explain most come first.
int rank(const std::string& field) {
  if (field.ends_with("/instruction_set") || field == "processor") return 0;
  if (field.starts_with(of_switches) || field == "sockets" || field == "cores") return 1;
  if (field.starts_with(of_libraries)) return 2;
  if (field.starts_with("peaks/") || field.starts_with("processor_ids/")) return 4;
  return 3;
}

/// Each difference as a text, with its field. Differences of binaries are one text, because one
/// library causes many of them.
std::vector<std::pair<std::string, std::string>> describe_differences(std::vector<Difference> all) {
  std::stable_sort(all.begin(), all.end(), [](const Difference& a, const Difference& b) {
    return rank(a.field) < rank(b.field);
  });
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::string> binaries;
  const auto is_told = [&](const std::string& setting) {
    return std::any_of(texts.begin(), texts.end(), [&](const auto& text) {
      return text.second.find("(" + setting) != std::string::npos ||
             text.second.find(", " + setting) != std::string::npos;
    });
  };
  for (const Difference& difference : all) {
    if (difference.field.starts_with(of_binaries)) {
      binaries.push_back(difference.field.substr(std::string(of_binaries).size()));
      continue;
    }
    const std::string text = describe_difference(difference, all);
    if (!is_told(text)) texts.emplace_back(difference.field, text);
  }
  if (!binaries.empty()) {
    constexpr std::size_t most = 3;
    const std::size_t count = binaries.size();
    binaries.resize(std::min(count, most));
    texts.emplace_back("binaries",
                       "other builds of " + join(binaries, ", ") +
                           (count > most ? fmt::format(" and {} more", count - most) : ""));
  }
  return texts;
}

using PartByHash = std::map<std::string, const json*>;
using FieldsByHash = std::map<std::string, Fields>;
constexpr const char* no_hash = "null";

/// The distinct hashes of the environments of a node. Processes of different suites load different
/// plugins, so a node may have several.
PartByHash hashes(const Node& node, json ResultEnvironment::*part,
                  std::string EnvironmentHashes::*hash) {
  PartByHash hashes;
  for (const ResultEnvironment& environment : node.environments) {
    const std::string& own = environment.hashes.*hash;
    hashes.try_emplace(own.empty() ? no_hash : own, &(environment.*part));
  }
  return hashes;
}

std::vector<std::string> keys(const PartByHash& parts) {
  std::vector<std::string> keys;
  for (const auto& [hash, part] : parts) keys.push_back(hash);
  return keys;
}

/// The findings for nodes with `own`, in a fleet in which most nodes have `most`.
std::vector<Check> compare(const std::string& name, const PartByHash& own,
                           const FieldsByHash& most) {
  const std::string criterion = name + as_on_most;
  const auto finding = [&](NodeVerdict verdict, const std::string& reason,
                           const std::string& field = "") {
    return Check{criterion + (field.empty() ? "" : ": " + field), std::nullopt, std::nullopt,
                 verdict, reason};
  };
  if (own.contains(no_hash)) return {finding(unknown, "its environment has no hash")};
  std::vector<Check> findings;
  std::set<std::string> written;
  bool other = false;
  for (const auto& [hash, part] : own) {
    if (most.contains(hash)) continue;
    other = true;
    // The environment is compared with the most similar one of most nodes, which is that of the
    // same suite.
    const Fields fields = flatten_fields(*part);
    std::vector<Difference> least;
    bool first = true;
    for (const auto& [common_hash, common] : most) {
      std::vector<Difference> all = differences(fields, common);
      if (first || all.size() < least.size()) least = std::move(all);
      first = false;
    }
    for (const auto& [field, text] : describe_differences(std::move(least)))
      if (written.insert(text).second)
        findings.push_back(finding(not_comparable, not_comparable_text + text, field));
  }
  if (other && findings.empty())
    findings.push_back(finding(not_comparable, std::string(not_comparable_text) +
                                                   "the hashes of the " + name + " differ"));
  if (!other && own.size() != most.size())
    findings.push_back(finding(
        missing, "environments of some suites are missing (run the same suites on all nodes)"));
  return findings;
}

}  // namespace

std::optional<Check> compare_threads(const Node& node) {
  std::map<std::string, std::size_t> rows;  // by "ran with 1 thread, elsewhere with 2"
  for (const auto& [id, row] : node.rows)
    if (row.other_threads && row.status == "missing") ++rows[row.reason];
  if (rows.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const auto& [reason, count] : rows)
    texts.push_back(format_count(count, "row") + " " + reason);
  return Check{std::string("threads") + as_on_most, std::nullopt, std::nullopt, not_comparable,
               not_comparable_text + join(texts, "; ")};
}

std::vector<std::vector<Check>> compare_environments(const Fleet& fleet) {
  std::vector<std::vector<Check>> findings(fleet.nodes.size());
  for (const auto& [name, part, hash] :
       {std::tuple{"hardware", &ResultEnvironment::hardware, &EnvironmentHashes::hardware},
        {"software", &ResultEnvironment::software, &EnvironmentHashes::software}}) {
    // Nodes count, not processes. Of equal counts, the first one wins.
    std::vector<PartByHash> parts;
    std::map<std::vector<std::string>, std::size_t> count;
    PartByHash most;
    for (const Node& node : fleet.nodes) {
      const PartByHash& own = parts.emplace_back(hashes(node, part, hash));
      if (!own.empty() && ++count[keys(own)] > (most.empty() ? 0 : count[keys(most)])) most = own;
    }
    FieldsByHash common;
    for (const auto& [key, tree] : most) common[key] = flatten_fields(*tree);
    std::map<std::vector<std::string>, std::vector<Check>>
        known;  // equal nodes have equal findings
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::vector<std::string> own = keys(parts[i]);
      if (own.empty() || own == keys(most)) continue;
      const auto [place, added] = known.try_emplace(own);
      if (added) place->second = compare(name, parts[i], common);
      findings[i].insert(findings[i].end(), place->second.begin(), place->second.end());
    }
  }
  return findings;
}

}  // namespace assay
