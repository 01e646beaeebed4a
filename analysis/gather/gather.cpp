#include "analysis/gather/gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "analysis/parts.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/parallel.hpp"
#include "core/machine/environment.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/row_reader.hpp"
#include "core/result/whole_file.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t files_at_once = 16;

/// Hosts, found by each name that same_host() allows, however many there are.
class Hosts {
 public:
  void insert(const std::string& host) { by_short_name_[short_name(host)].insert(host); }
  bool contains(const std::string& name) const {
    const auto found = by_short_name_.find(short_name(name));
    return found != by_short_name_.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const std::string& host) { return same_host(name, host); });
  }

 private:
  std::map<std::string, std::set<std::string>> by_short_name_;
};

/// What the head of the one result is made of, file by file.
class Head {
 public:
  /// Takes the head of a result. Its rows then have their environments from `environments` on, and
  /// their ceilings' brackets from `brackets` on.
  void add(json& result, const fs::path& file) {
    json& run = result["run"];
    const std::string id = run.at("id");
    const auto [earlier, fresh] = runs_.emplace(id, file.string());
    if (!fresh)
      throw InputError(
          fmt::format("{} and {} are both results of run {} (its launches would count twice). "
                      "Leave out one of them.",
                      earlier->second, file.string(), id));
    if (run.contains("gathered"))
      throw InputError(
          fmt::format("{} was gathered already (its nodes could not be distinguished from those of "
                      "other files). Give the files that it was made of.",
                      file.string()));
    if (!gathered_.empty() && statistics_of(run) != statistics_of(common_))
      throw InputError(
          fmt::format("{} has version {} of the statistics, earlier files have {} (a file has a "
                      "single version). Measure the nodes with one version of Assay.",
                      file.string(), statistics_of(run), statistics_of(common_)));
    environments += result["environments"].size();
    std::set<std::string> hosts;
    for (json& environment : result["environments"]) {
      hosts.insert(environment.at("host").get<std::string>());
      named_.insert(environment["host"]);
      environments_.push_back(std::move(environment));
    }
    const std::size_t brackets_before = bracket_.size();
    if (run.contains("bracket"))
      for (json& bracket : run["bracket"]) bracket_.push_back(std::move(bracket));
    brackets = bracket_.size();
    run.erase("bracket");
    gathered_.push_back({{"hosts", hosts},
                         {"rows", result["rows"].size()},
                         {"environments", result["environments"].size()},
                         {"brackets", brackets - brackets_before}});
    systems_[result.at("system").at("name")].insert(hosts.begin(), hosts.end());
    for (const json& row : result["rows"])
      if (!row.value("published", false))
        with_rows_.insert(gathered_host(row.at("environment").get<std::size_t>(), result));
    merge(run);
    all_runs_.push_back(std::move(run));
  }

  std::size_t environments = 0, brackets = 0;

  json run(const GatherOptions& options) const {
    json made = common_;
    // Fields that a result must have, where the files do not agree on them.
    for (const char* field : {"suite", "seed"}) made.emplace(field, nullptr);
    std::vector<std::string> ids;
    for (const auto& [id, file] : runs_) ids.push_back(id);
    made["id"] = "gathered-" + content_hash("gathered", ids);
    made["command"] = options.command;
    made["started"] = started_;
    made["finished"] = finished_;
    made["gathered"] = gathered_;
    for (std::size_t i = 0; i < all_runs_.size(); ++i) {
      // What is the run's own: what the one result says otherwise, or not at all.
      json& own = made["gathered"][i]["of_run"] = json::object();
      for (const auto& [field, value] : all_runs_[i].items())
        if (!made.contains(field) || made[field] != value) own[field] = value;
    }
    made["missing_nodes"] = missing(options.nodes);
    if (!bracket_.empty()) made["bracket"] = bracket_;
    return made;
  }

  json system(const GatherOptions& options) const {
    if (!options.system.empty()) return {{"name", options.system}};
    if (systems_.size() == 1) return {{"name", systems_.begin()->first}};
    for (const auto& system : systems_)
      if (std::none_of(system.second.begin(), system.second.end(),
                       [&](const std::string& host) { return same_host(system.first, host); }))
        throw InputError(fmt::format(
            "the files name several systems, among them {} and {} (a result is of one system). "
            "Gather those of each system, or give them one name with --system.",
            systems_.begin()->first, systems_.rbegin()->first));
    // Nobody has named the system: each file has the name of its host.
    return {{"name", fmt::format("fleet of {} nodes", systems_.size())}};
  }

  const json& all_environments() const { return environments_; }

 private:
  std::string gathered_host(std::size_t environment, const json& result) const {
    const std::size_t first = environments_.size() - result["environments"].size();
    return environments_[first + environment].at("host");
  }

  /// Keeps the fields of "run" that all files agree on, and the span of time.
  void merge(const json& run) {
    const bool first = gathered_.size() == 1;
    const json start = run.at("started"), end = run.at("finished");
    if (first) {
      common_ = run;
      started_ = start;
      finished_ = end;
    } else {
      std::erase_if(common_.get_ref<json::object_t&>(), [&](const auto& field) {
        return !run.contains(field.first) || run[field.first] != field.second;
      });
      if (start.is_string() && (!started_.is_string() || start < started_)) started_ = start;
      // One that did not finish leaves the whole unfinished.
      if (end.is_null() || finished_.is_null())
        finished_ = nullptr;
      else if (end > finished_)
        finished_ = end;
    }
  }

  json missing(const std::vector<std::string>& nodes) const {
    json list = json::array();
    for (const std::string& node : nodes)
      if (!with_rows_.contains(node))
        list.push_back({{"host", node},
                        {"reason", named_.contains(node) ? "its result has no rows"
                                                         : "no result file names it"}});
    return list;
  }

  json environments_ = json::array(), bracket_ = json::array(), gathered_ = json::array();
  json common_ = json::object(), started_, finished_;
  std::vector<json> all_runs_;
  std::map<std::string, std::string> runs_;  ///< id → file
  std::map<std::string, std::set<std::string>> systems_;
  Hosts named_, with_rows_;
};

std::string text_of_member(const char* name, const json& value) {
  return fmt::format(",\n\"{}\": {}", name,
                     value.dump(-1, ' ', false, json::error_handler_t::replace));
}

/// Some files: read in parallel, made part of the head in their order, and their rows as text.
std::vector<std::string> texts_of(std::span<const fs::path> files, Head& head) {
  const auto threads = static_cast<std::size_t>(processors());
  std::vector<json> results(files.size());
  std::vector<std::string> texts(files.size());
  std::vector<std::pair<std::size_t, std::size_t>> first(files.size());
  // A row stays as its file has it, but for its indices.
  const auto text_of_row = [](json& row, std::string_view text, const json&) {
    row = {{"environment", row.at("environment")},
           {"published", row.value("published", false)},
           {"text", text}};
    return true;
  };
  // Few files may be large, many need no further threads each.
  const std::size_t each = files.size() >= threads ? 1 : threads;
  parallel_for(files.size(), threads,
               [&](std::size_t i) { results[i] = read_result_rows(files[i], text_of_row, each); });
  for (std::size_t i = 0; i < files.size(); ++i) {
    first[i] = {head.environments, head.brackets};
    head.add(results[i], files[i]);
  }
  parallel_for(files.size(), threads, [&](std::size_t i) {
    for (const json& row : results[i]["rows"]) {
      texts[i] += ",\n";
      texts[i] += shifted_text(row["text"].get_ref<const std::string&>(),
                               static_cast<std::int64_t>(first[i].first),
                               static_cast<std::int64_t>(first[i].second));
    }
    results[i] = nullptr;
  });
  return texts;
}

}  // namespace

std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

bool same_host(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const bool whole = a.find('.') != std::string::npos && b.find('.') != std::string::npos;
  return !whole && short_name(a) == short_name(b);
}

json gather(const std::vector<fs::path>& files, const fs::path& out, const GatherOptions& options) {
  json run;
  write_pieces(out, [&](const Put& put) {
    Head head;
    put(fmt::format("{{\n\"schema\": \"{}\",\n\"rows\": [", result_schema));
    bool any = false;
    for (std::size_t i = 0; i < files.size(); i += files_at_once)
      for (const std::string& text :
           texts_of(std::span(files).subspan(i, std::min(files_at_once, files.size() - i)), head)) {
        if (text.empty()) continue;
        put(any ? std::string_view(text) : std::string_view(text).substr(1));  // its first comma
        any = true;
      }
    put("]");
    run = head.run(options);
    put(text_of_member("system", head.system(options)));
    put(text_of_member("run", run));
    put(text_of_member("environments", head.all_environments()));
    put("\n}\n");
  });
  return run;
}

}  // namespace assay
