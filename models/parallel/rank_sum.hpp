#pragma once
// Sums of a network's value over ranks.

#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Compares sums over ranks, elements of `type`, with those of the ranks' own terms in fp64.
/// Collective.
void compare_sums(std::vector<double> terms, const std::vector<double>& sums, DataType type,
                  const std::string& what, Communicator& ranks, Verification& found);

/// Ranks that add a value of their networks.
class RankSum {
 public:
  /// `adding` connects the same ranks as `ranks`, and adds. Both must outlive it.
  RankSum(Communicator& ranks, Communicator& adding) : ranks_(ranks), adding_(adding) {}
  static Call call(const Executor& executor, ValueIndex value);
  /// UnsupportedCase if the ranks cannot add it. `what`: "of conv1 forward".
  void prepare(const Executor& executor, ValueIndex value, const std::string& what) const;
  /// `found`: compares the sum with its terms. Collective.
  void run(const Executor& executor, ValueIndex value, const std::string& what = "",
           Verification* found = nullptr) const;
  Communicator& ranks() const { return ranks_; }
  Communicator& adding() const { return adding_; }

 private:
  Communicator &ranks_, &adding_;
};

}  // namespace assay
