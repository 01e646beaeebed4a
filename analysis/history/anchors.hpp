#pragma once
// What people know beside the results: baselines that somebody answers for, and events.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/history/points.hpp"

namespace assay {

/// What is to be promoted, and who says so.
struct Promotion {
  std::string id;                  ///< of a row; "all": each
  std::optional<std::string> run;  ///< whose value counts; nothing: the median of the last points
  std::string owner, reason;
  bool accept_lost = false;
  nlohmann::json installation;  ///< of the promoted build (installation.hpp); null: not known
};

/// Where the last runs of a series hold no number that there was before: the first of these gaps,
/// as its index. Nothing where the last run has a number, is wrong or failed, or where there never
/// was a number.
std::optional<std::size_t> lost_since(const RowHistory& series);

/// DIR/anchors.jsonl: one decision a line, appended and never rewritten, so that who moved a
/// baseline, when and why stays known.
class Anchors {
 public:
  /// None where there is no such file. InputError with the line for what breaks
  /// anchor.schema.json.
  explicit Anchors(const std::filesystem::path& folder);

  /// The promoted baseline that counts for a series: the last promotion of its id and hardware, if
  /// no reset followed.
  std::optional<nlohmann::json> of(const RowHistory& series) const;

  /// The first of the last runs of a series without number (Anchors::lost_in) of which somebody
  /// accepted that it is lost; nullptr: nobody did.
  const nlohmann::json* accepted_loss(const RowHistory& series) const;

  /// Decides: the lines to append for every series of `id` ("all": of each). Promoted is the
  /// point of run `run`, or the median of the last points (those that are judged). InputError for
  /// an unknown id or run, where there is nothing to promote, and for a number that is lost, unless
  /// that is accepted: then a line of its own says so.
  std::vector<nlohmann::json> promotions(const Histories& histories, const Promotion& what) const;
  std::vector<nlohmann::json> resets(const Histories& histories, const std::string& id,
                                     const std::string& owner, const std::string& reason) const;

  /// One write of whole lines at the end of the file, synced.
  void append(const std::vector<nlohmann::json>& lines) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::vector<nlohmann::json> lines_;
};

struct Event {
  double time = 0;
  std::string when, text, hardware;  ///< hardware "": of all machines
};

/// DIR/events.json, by time; none where there is no such file.
std::vector<Event> events_of(const std::filesystem::path& folder);

}  // namespace assay
