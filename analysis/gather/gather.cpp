#include "analysis/gather/gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "analysis/host_names.hpp"
#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/parallel.hpp"
#include "core/machine/environment.hpp"
#include "core/result/row_reader.hpp"
#include "core/result/row_text.hpp"
#include "core/result/run_result.hpp"
#include "core/result/schema.hpp"
#include "core/result/whole_file.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t files_at_once = 16;

/// A set of hosts. A host is found by each name that same_host() accepts, in a time that does not
/// grow with their number.
class Hosts {
 public:
  void insert(const std::string& host) { by_short_name_[short_name(host)].insert(host); }
  bool contains(const std::string& name) const {
    const auto hosts = by_short_name_.find(short_name(name));
    return hosts != by_short_name_.end() &&
           std::any_of(hosts->second.begin(), hosts->second.end(),
                       [&](const std::string& host) { return same_host(name, host); });
  }

 private:
  std::map<std::string, std::set<std::string>> by_short_name_;
};

/// Objects of the files. The combined result has the fields that are equal in all of them.
class CommonFields {
 public:
  void add(json fields) {
    if (all_.empty()) common_ = fields;
    std::erase_if(common_.get_ref<json::object_t&>(), [&](const auto& field) {
      return !fields.contains(field.first) || fields[field.first] != field.second;
    });
    all_.push_back(std::move(fields));
  }
  std::size_t size() const { return all_.size(); }
  const json& common() const { return common_; }
  /// The fields of a file that are missing from the combined result, or differ in it.
  json own(std::size_t file, const json& whole) const {
    json own = json::object();
    for (const auto& [field, value] : all_[file].items())
      if (!whole.contains(field) || whole[field] != value) own[field] = value;
    return own;
  }

 private:
  std::vector<json> all_;
  json common_ = json::object();
};

/// The head of the combined result, built file by file.
class Head {
 public:
  /// Adds the head of a result. The environments of its rows are then numbered from `environments`
  /// on, and the brackets of their ceilings from `brackets` on.
  void add(RunResult& result, const std::string& file) {
    RunHeader& run = result.run;
    check(run, file);
    std::set<std::string> hosts;
    for (const Row& row : result.rows)
      if (!row.published) with_rows_.insert(result.environment(row).host);
    for (const ResultEnvironment& environment : result.environments) {
      hosts.insert(environment.host);
      named_.insert(environment.host);
      environments_.push_back(environment);
    }
    brackets_.insert(brackets_.end(), run.brackets.begin(), run.brackets.end());
    gathered_.push_back({{"hosts", hosts},
                         {"rows", result.rows.size()},
                         {"environments", result.environments.size()},
                         {"brackets", run.brackets.size()}});
    systems_[result.system].insert(hosts.begin(), hosts.end());
    if (schema_version(result.schema) > schema_version(schema_)) schema_ = result.schema;
    rows_ += result.rows.size();
    run.brackets.clear();
    runs_.add(run);
    result.rest["system"] = result.system_details;
    tops_.add(result.rest);
    span_time(run);
  }

  std::size_t environments() const { return environments_.size(); }
  std::size_t brackets() const { return brackets_.size(); }
  const json& all_environments() const { return environments_; }
  /// The latest schema version of the files.
  const std::string& schema() const { return schema_; }

  GatheredNodes nodes(const std::vector<std::string>& expected) const {
    GatheredNodes nodes{runs_.size(), rows_, {}};
    for (const std::string& node : expected)
      if (!with_rows_.contains(node))
        nodes.missing.push_back(
            {node, named_.contains(node) ? "its result has no rows" : "no result file names it"});
    return nodes;
  }

  json run(const std::string& command, const std::vector<MissingNode>& missing) const {
    json run = runs_.common();
    // A result must have these fields, even if the files do not agree on them.
    for (const char* field : {"suite", "seed"}) run.emplace(field, nullptr);
    std::vector<std::string> ids;
    for (const auto& [id, file] : files_) ids.push_back(id);
    run.update({{"id", "gathered-" + content_hash("gathered", ids)},
                {"command", command},
                {"started", time_or_null(started_)},
                {"finished", time_or_null(finished_)},
                {"gathered", gathered_},
                {"missing_nodes", missing}});
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      run["gathered"][i]["of_run"] = runs_.own(i, run);
      if (json own = tops_.own(i, tops_.common()); !own.empty())
        run["gathered"][i]["of_result"] = std::move(own);
    }
    if (!brackets_.empty()) run["bracket"] = brackets_;
    return run;
  }

  /// "system", and the fields beside it that this version does not read.
  json top(const GatherOptions& options) const {
    json top = tops_.common();
    top["system"]["name"] = system(options);
    return top;
  }

 private:
  std::string system(const GatherOptions& options) const {
    if (!options.system.empty()) return options.system;
    if (systems_.size() == 1) return systems_.begin()->first;
    for (const auto& system : systems_)
      if (std::none_of(system.second.begin(), system.second.end(),
                       [&](const std::string& host) { return same_host(system.first, host); }))
        throw InputError(fmt::format(
            "the files name several systems, among them {} and {} (a result is of one system). "
            "Gather those of each system, or give them one name with --system.",
            systems_.begin()->first, systems_.rbegin()->first));
    // The system has no given name, so each file has the name of its host.
    return fmt::format("fleet of {} nodes", systems_.size());
  }

  static json time_or_null(const std::optional<std::string>& time) {
    return time ? json(*time) : json();
  }

  /// InputError if the run cannot be combined with those before it.
  void check(const RunHeader& run, const std::string& file) {
    const auto [earlier, fresh] = files_.emplace(run.id, file);
    if (!fresh)
      throw InputError(
          fmt::format("{} and {} are both results of run {} (its launches would count twice). "
                      "Leave out one of them.",
                      earlier->second, file, run.id));
    if (run.rest.contains("gathered"))
      throw InputError(
          fmt::format("{} was gathered already (its nodes could not be distinguished from those of "
                      "other files). Give the files that it was made of.",
                      file));
    if (runs_.size() > 0 && run.statistics != statistics_)
      throw InputError(
          fmt::format("{} has version {} of the statistics, earlier files have {} (a file has a "
                      "single version). Measure the nodes with one version of Assay.",
                      file, run.statistics, statistics_));
  }

  /// Extends the time span to that of this run.
  void span_time(const RunHeader& run) {
    if (runs_.size() == 1) {
      started_ = run.started;
      finished_ = run.finished;
      statistics_ = run.statistics;
      return;
    }
    if (run.started && (!started_ || run.started < started_)) started_ = run.started;
    // One unfinished run makes the whole unfinished.
    finished_ = run.finished && finished_ ? std::max(run.finished, finished_) : std::nullopt;
  }

  json environments_ = json::array(), gathered_ = json::array();
  std::vector<json> brackets_;
  CommonFields runs_, tops_;
  std::string schema_ = result_schema;
  std::optional<std::string> started_, finished_;
  int statistics_ = 1;
  std::size_t rows_ = 0;
  std::map<std::string, std::string> files_;  ///< by the id of their run
  std::map<std::string, std::set<std::string>> systems_;
  Hosts named_, with_rows_;
};

std::string format_member(const std::string& name, const json& value) {
  const auto dump = [](const json& part) {
    return part.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  return fmt::format(",\n{}: {}", dump(name), dump(value));
}

constexpr const char* text_field = "text";

/// Reads some files in parallel, adds them to the head in their order, and returns their rows as
/// text. A row keeps the text of its file, except for its indices.
std::vector<std::string> read_rows(std::span<const fs::path> files, Head& head) {
  const auto threads = static_cast<std::size_t>(processors());
  std::vector<RunResult> results(files.size());
  std::vector<std::string> texts(files.size());
  std::vector<std::pair<std::int64_t, std::int64_t>> first(files.size());
  const auto keep_text = [](Row& row, std::string_view text, const RunResult&) {
    Row kept;
    kept.environment = row.environment;
    kept.published = row.published;
    kept.rest[text_field] = text;
    row = std::move(kept);
    return true;
  };
  // A few files may be large, so each gets several threads; if there are many, one thread for each
  // suffices.
  const std::size_t each = files.size() >= threads ? 1 : threads;
  parallel_for(files.size(), threads,
               [&](std::size_t i) { results[i] = read_result_rows(files[i], keep_text, each); });
  for (std::size_t i = 0; i < files.size(); ++i) {
    first[i] = {head.environments(), head.brackets()};
    head.add(results[i], files[i].string());
  }
  parallel_for(files.size(), threads, [&](std::size_t i) {
    for (const Row& row : results[i].rows)
      texts[i] += ",\n" + shift_numbers(row.rest[text_field].get_ref<const std::string&>(),
                                        first[i].first, first[i].second);
    results[i] = {};
  });
  return texts;
}

}  // namespace

GatheredNodes gather(const std::vector<fs::path>& files, const fs::path& out,
                     const GatherOptions& options) {
  GatheredNodes nodes;
  write_pieces(out, [&](const PieceWriter& put) {
    Head head;
    put("{\n\"rows\": [");
    bool any = false;
    for (std::size_t i = 0; i < files.size(); i += files_at_once)
      for (const std::string& text : read_rows(
               std::span(files).subspan(i, std::min(files_at_once, files.size() - i)), head)) {
        if (text.empty()) continue;
        put(any ? std::string_view(text) : std::string_view(text).substr(1));  // its first comma
        any = true;
      }
    put("]");
    nodes = head.nodes(options.nodes);
    const json run = head.run(options.command, nodes.missing);
    put(format_member("schema", head.schema()));
    const json top = head.top(options);
    for (const auto& [name, value] : top.items()) put(format_member(name, value));
    put(format_member("run", run));
    put(format_member("environments", head.all_environments()));
    put("\n}\n");
  });
  return nodes;
}

}  // namespace assay
