#pragma once
// The decisions and events that users add to the results of a history.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/points.hpp"

namespace assay {

/// The installation that was promoted. A confirmation checks with it whether the installation is
/// still the same.
struct PromotedBuild {
  std::string programs{}, hash{};
  nlohmann::json software{};  ///< software that it loaded, as in an environment
};

/// A decision: a line of DIR/anchors.jsonl (results-schema/anchor.schema.json).
struct Anchor {
  std::string event{}, id{}, hardware{}, time{}, owner{}, reason{};
  std::optional<double> value{};  ///< seconds; of a promotion
  std::optional<int> statistics{};
  std::string run{};  ///< "": the value is the median of the values of `runs`
  std::vector<std::string> runs{};
  std::optional<PromotedBuild> build{};
};
void to_json(nlohmann::json& json, const Anchor& anchor);
void from_json(const nlohmann::json& json, Anchor& anchor);

/// A request to promote a baseline.
struct Promotion {
  std::string id;                  ///< id of a row, or "all"
  std::optional<std::string> run;  ///< run whose value is promoted; else the median of the last
                                   ///< points is
  std::string owner, reason;
  bool accept_lost = false;
  std::optional<PromotedBuild> build{};
};

/// The index of the first gap of the present loss: the series had a result before, but has none in
/// its last runs. Nothing if the last run has a result, is incorrect or failed, or if no run had a
/// result.
std::optional<std::size_t> first_gap_of_loss(const RowHistory& series);

/// Lines are appended to the file and never rewritten, so it records who changed a baseline, when,
/// and why.
class Anchors {
 public:
  /// Empty if the folder has no anchors.jsonl. InputError with the line if the file violates the
  /// schema.
  explicit Anchors(const std::filesystem::path& folder);

  /// The promoted baseline of a series: the last promotion of its id and hardware; nullptr if there
  /// is none, or if a reset followed it.
  const Anchor* find(const RowHistory& series) const;

  /// The decision that accepted the current loss of a series (first_gap_of_loss); nullptr if there
  /// is none.
  const Anchor* find_accepted_loss(const RowHistory& series) const;

  /// The lines to append for every series of the id. A lost result gets a line that accepts the
  /// loss. InputError for an unknown id or run, if there is nothing to promote, and for a lost
  /// result that is not accepted.
  std::vector<Anchor> promotions(const History& history, const Promotion& promotion) const;
  std::vector<Anchor> resets(const History& history, const std::string& id,
                             const std::string& owner, const std::string& reason) const;

  /// Appends whole lines, and syncs the file.
  void append(const std::vector<Anchor>& lines) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::vector<Anchor> lines_;
};

/// The events of a file, by time; none if the file does not exist.
std::vector<Event> read_events(const std::filesystem::path& file);

}  // namespace assay
