#pragma once
// Summary of the burn-in of a fleet: the rows of each case on a host together.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/text_table.hpp"
#include "core/base/statistics.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// Change of the time of a run: the second half of the burn-in over the first half (above 1:
/// slower), with its interval. Nothing if there are too few windows.
using Drift = std::optional<LaunchComparison>;

/// One run: minutes since the first run, and its time divided by the median time on its device.
struct DriftPoint {
  double minutes = 0, ratio = 1;
};

/// Rows of one case on one host, of all devices and passes together.
struct BurnTotal {
  std::string host{}, id{};
  std::size_t devices = 0, rows = 0;
  double runs = 0, poisoned = 0, faulty = 0, undecided = 0;
  double device_hours = 0, seconds = 0, check_s = 0;
  std::vector<std::string> problems{};  ///< reasons of rows that are not ok
  std::vector<BurnFault> faults{};
  Drift drift{};
  std::vector<DriftPoint> course{};  ///< at most 40 points, each the median of successive windows
  double limit_per_device_hour() const;
};

/// Adds up rows with a burn-in. Other rows, and rows that are unsupported before they burn, count
/// as problems of their case.
class BurnTotals {
 public:
  void add(const Row& row, const std::string& host);
  std::vector<BurnTotal> take();

 private:
  struct Series {
    BurnTotal total{};
    /// Windows by device.
    std::map<std::string, std::vector<Burn::Window>> windows{};
  };
  std::map<std::pair<std::string, std::string>, Series> series_;
};

/// Compares the halves of several devices together: each device's times over their median, first
/// half against second half.
Drift compute_drift(const std::map<std::string, std::vector<Burn::Window>>& windows);

/// "0 wrong of 12345 runs in 0.5 device-hours, below 6 an hour (95 %)".
std::string summarize_burn(const BurnTotal& total);

/// A table with one line for each total. A total without a burn-in has the reason as its note.
Table burn_lines(const std::vector<BurnTotal>& totals);
/// The first faults of the totals, a line each: what was wrong, where and when.
std::vector<std::string> burn_faults(const std::vector<BurnTotal>& totals);
/// Both are printed on a terminal.
std::string render_burn_table(const std::vector<BurnTotal>& totals);

}  // namespace assay
