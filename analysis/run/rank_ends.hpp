#pragma once
// Which rank of a job ended first. A launcher ends the others within a millisecond, and may name
// any of those that it then finds dead.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "analysis/run/given_up.hpp"

namespace assay {

/// Watches the files that the ranks of one job hold open (core/rank_file.hpp).
class RankEnds final {
 public:
  /// Begins to watch. To be made before the job is started.
  RankEnds(const std::filesystem::path& journal, const Process& job);
  /// Removes the files that dead ranks have left, those of other hosts, too.
  ~RankEnds();
  RankEnds(const RankEnds&) = delete;
  RankEnds& operator=(const RankEnds&) = delete;

  /// "rank 1 (process 4711 on HOST) ended first", of the processes and hosts of all ranks, by rank.
  /// "" where none has ended, where the job has one rank, or where a rank was not seen to begin (it
  /// is on another host, for one): it may have been the first.
  std::string first(const std::vector<std::string>& processes,
                    const std::vector<std::string>& hosts);

 private:
  /// Of the names of all ranks' files.
  std::string beginning() const;
  void read_notices();

  std::filesystem::path folder_;
  Process job_;
  int notices_ = -1;
  std::set<std::string> begun_;     ///< names of files
  std::vector<std::string> ended_;  ///< in this order
};

}  // namespace assay
