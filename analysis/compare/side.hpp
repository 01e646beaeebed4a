#pragma once
// A side of a comparison: its result files, and the launches of each row.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/variation.hpp"
#include "core/result/launches.hpp"

namespace assay {

/// The launches of a row in all files of a side.
struct SideRow {
  Launches launches;               ///< those in the first environment
  const RunHeader* run = nullptr;  ///< of the result with these launches
  const ResultEnvironment* environment = nullptr;
  std::size_t environments = 1;  ///< the number of its environments; with several there is no
                                 ///< single result
  std::size_t variants = 1;      ///< number of ids with this key

  const Row& row() const { return launches.first(); }
  bool measured() const { return launches.status == "ok" && !launches.published; }
};

/// Keeps the parts of each row that a comparison reads.
bool keep_for_comparison(Row& row, std::string_view text, const RunResult& head);

struct SideSummary {
  std::string name, system;  ///< name: as given on the command line
  std::vector<std::string> files{};
};

/// Rows are found by their key: the id, without the parameters that vary.
class Side {
 public:
  struct Source {
    RunResult result;       ///< without its rows, which are in rows()
    bool measured = false;  ///< true if it has a measured row
    const RunHeader& run() const { return result.run; }
  };

  Side(std::string name, Results results, const Variation& vary);
  // Rows point into the results; moving a side does not move the results.
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  Side(Side&&) = default;
  Side& operator=(Side&&) = default;
  const std::string& name() const { return summary_.name; }
  const std::vector<Source>& results() const { return results_; }
  const std::map<std::string, SideRow>& rows() const { return rows_; }
  /// The row with a key; null if there is none.
  const SideRow* find(const std::string& key) const {
    const auto row = rows_.find(key);
    return row == rows_.end() ? nullptr : &row->second;
  }
  const SideSummary& summary() const { return summary_; }

 private:
  SideSummary summary_;
  std::vector<Source> results_;
  std::map<std::string, SideRow> rows_;
};

/// Further values of system parameters that make rows of the two sides do the same work.
struct MorePairs {
  std::vector<std::string> names{};          ///< the parameters
  std::vector<std::string> base{}, updated;  ///< "NAME=VALUE", to add to each side
  std::size_t rows = 0;                      ///< number of measured rows that they pair
};

/// The choices that pair more measured rows than `vary` does: at most three, beginning with the
/// most rows.
std::vector<MorePairs> find_more_pairs(const Side& base, const Side& updated,
                                       const Variation& vary);

}  // namespace assay
