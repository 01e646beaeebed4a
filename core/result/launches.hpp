#pragma once
// Summarizes the launches of one case to one value, or to the reason why there is none. Tables and
// baselines share this rule.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result/row.hpp"

namespace assay {

/// The states of a row, from the mildest to the gravest.
inline constexpr std::array row_statuses{"ok",      "unsupported", "target missed",
                                         "timeout", "failed",      "incorrect"};
/// The index in `row_statuses`; -1 for any other text.
int find_row_gravity(const std::string& status);
/// True if a row without a result is a finding about the computation, which no later attempt
/// repairs.
bool is_final(const std::string& status);

/// A row that all copies share: a fleet has too many rows to copy, and launches are copied often.
class SharedRow final {
 public:
  explicit SharedRow(Row row) : row_(std::make_shared<Row>(std::move(row))) {}
  /// A row of a result that outlives all its copies.
  static SharedRow in(const Row& row) {
    // Without an owner the row counts as shared, so it is never modified.
    return SharedRow(std::shared_ptr<Row>(std::shared_ptr<void>(), const_cast<Row*>(&row)));
  }
  operator const Row&() const { return *row_; }
  const Row* operator->() const { return row_.get(); }
  /// The row to change: a copy, unless nothing else has it.
  Row& own() {
    if (row_.use_count() != 1) row_ = std::make_shared<Row>(*row_);
    return *row_;
  }

 private:
  explicit SharedRow(std::shared_ptr<Row> row) : row_(std::move(row)) {}
  std::shared_ptr<Row> row_;
};

/// The launches of one id in one environment, summarized.
struct Launches {
  std::vector<SharedRow> rows;
  std::string environment;  ///< ResultEnvironment::key()
  /// The most severe status of any launch: if one launch is incorrect, the times of the others are
  /// not reported.
  std::string status;
  std::string reason;
  std::vector<double> medians;  ///< seconds, of each launch; empty unless status is ok
  double median = 0;            ///< median of `medians`; of published rows the shortest time
  bool published = false;
  /// A published row may have a rate, but no time. Its status is then `unsupported`, and this is
  /// the largest rate of the launches, with its name.
  double rate = 0;
  std::string rate_name;
  const Row& first() const { return rows.front(); }
};

/// The most severe mark of any launch (marks.hpp).
std::string choose_mark(const Launches& launches);

/// Groups the rows of one id by their environments.
class LaunchGroups {
 public:
  /// Adds a row. A later attempt at the same launch replaces a row that crashed, but never one that
  /// is_final().
  void add(SharedRow row, const std::string& environment);
  void add(Row row, const std::string& environment) { add(SharedRow(std::move(row)), environment); }
  /// One summary for each environment, in the order in which environments first appear.
  std::vector<Launches> summarize() const;
  /// The same, but moves the rows: the groups are then empty.
  std::vector<Launches> take();

 private:
  struct Entry {
    std::int64_t launch;  ///< of the row: a side of many runs looks for it often
    SharedRow row;
    std::string environment;
  };
  std::vector<Entry> entries_;
};

}  // namespace assay
