#pragma once
// What users add to the results of a history: promoted baselines, and events.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/points.hpp"

namespace assay {

/// A request to promote a baseline.
struct Promotion {
  std::string id;  ///< id of a row, or "all"
  std::optional<std::string>
      run;  ///< promote the value of this run, else the median of the last points
  std::string owner, reason;
  bool accept_lost = false;
  nlohmann::json installation;  ///< of the promoted build (installation.hpp); null: unknown
};

/// Where a series had a result and its last runs do not: the index of the first of these gaps.
/// Nothing where the last run has a result, is incorrect or failed, or where no run had a result.
std::optional<std::size_t> first_gap_of_loss(const RowHistory& series);

/// DIR/anchors.jsonl: a decision per line. Lines are appended and never rewritten, so the file
/// records who changed a baseline, when, and why.
class Anchors {
 public:
  /// Empty where the file does not exist. InputError with the line for what violates
  /// anchor.schema.json.
  explicit Anchors(const std::filesystem::path& folder);

  /// The promoted baseline of a series: the last promotion of its id and hardware, unless a reset
  /// followed.
  std::optional<nlohmann::json> of(const RowHistory& series) const;

  /// The decision that accepted the current loss of a series (first_gap_of_loss); nullptr if there
  /// is none.
  const nlohmann::json* accepted_loss(const RowHistory& series) const;

  /// The lines to append for every series of the id. A lost result gets a line that accepts the
  /// loss. InputError for an unknown id or run, where there is nothing to promote, and for a lost
  /// result that is not accepted.
  std::vector<nlohmann::json> promotions(const Histories& histories, const Promotion& what) const;
  std::vector<nlohmann::json> resets(const Histories& histories, const std::string& id,
                                     const std::string& owner, const std::string& reason) const;

  /// Appends whole lines in a single write, synced.
  void append(const std::vector<nlohmann::json>& lines) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::vector<nlohmann::json> lines_;
};

struct Event {
  double time = 0;
  std::string when, text, hardware;  ///< hardware "": concerns all machines
};

/// The events of DIR/events.json, by time; empty where the file does not exist.
std::vector<Event> events_of(const std::filesystem::path& folder);
/// Those of the file.
std::vector<Event> events_in(const std::filesystem::path& file);

}  // namespace assay
