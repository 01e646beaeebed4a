#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "models/analytics/data.hpp"
#include "models/svm/svm.hpp"

namespace assay {
namespace {

constexpr const char* two_classes =
    "(two classes have 0 and 1, or -1 and +1). Give a table of two classes.";

/// The first row with a certain label; several threads may search at once.
class FirstRow {
 public:
  void note(std::int64_t row) {
    std::int64_t known = row_;
    while (row < known && !row_.compare_exchange_weak(known, row)) {
    }
  }
  /// The row's negative: its maximum over the ranks belongs to the first row of all. -infinity:
  /// none.
  double negative() const {
    return row_ == none ? -std::numeric_limits<double>::infinity()
                        : -static_cast<double>(row_.load());
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> row_ = none;
};

}  // namespace

std::unique_ptr<DataTable> sign_labels(std::unique_ptr<DataTable> table) {
  const std::shared_ptr<const DataTable> source = std::move(table);
  return change_table(
      source, [source](std::int64_t first, std::span<double>, std::span<double> labels) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
          if (labels[i] == 0) labels[i] = -1;
          if (labels[i] != -1 && labels[i] != 1)
            throw InputError(fmt::format("{}: the label of row {} is {} {}", source->canonical(),
                                         first + static_cast<std::int64_t>(i) + 1, labels[i],
                                         two_classes));
        }
      });
}

void expect_two_classes(const DataTable& table, const RowPass& mine, Communicator& ranks) {
  FirstRow zero, minus, plus;
  RankCalls calls(ranks);
  sums_over_ranks(
      table, mine, 0,
      [&](std::int64_t first, std::span<const double>, std::span<const double> labels,
          std::span<double>) {
        std::int64_t row = mine.range.first + first;
        for (const double label : labels) {
          ++row;
          if (label == 0) zero.note(row);
          if (label == -1) minus.note(row);
          if (label == 1) plus.note(row);
        }
      },
      calls);
  double firsts[] = {zero.negative(), minus.negative(), plus.negative()};
  ranks.allreduce_max(firsts);
  if (std::isfinite(firsts[0]) && std::isfinite(firsts[1]))
    throw InputError(fmt::format("{}: the label of row {} is 0, and that of row {} is -1 {}",
                                 table.canonical(), static_cast<std::int64_t>(-firsts[0]),
                                 static_cast<std::int64_t>(-firsts[1]), two_classes));
  const bool negatives = std::isfinite(firsts[0]) || std::isfinite(firsts[1]);
  if (negatives != std::isfinite(firsts[2]))
    throw InputError(fmt::format("{}: all labels are {} {}", table.canonical(),
                                 !negatives                 ? 1
                                 : std::isfinite(firsts[0]) ? 0
                                                            : -1,
                                 two_classes));
}

}  // namespace assay
