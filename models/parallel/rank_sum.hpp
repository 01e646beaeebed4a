#pragma once
// Sums of a network's value over ranks.

#include <memory>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Compares sums over ranks, elements of `type`, with those of the ranks' own terms in fp64.
/// Collective.
void compare_sums(std::vector<double> terms, const std::vector<double>& sums, DataType type,
                  const std::string& what, Communicator& ranks, Verification& verification);

/// Ranks that add a value of their networks.
class RankSum {
 public:
  /// `adding` connects the same ranks as `ranks`, and adds. Both must outlive this object.
  /// `on_device`: `adding` can read the memory of a GPU; otherwise values on a GPU are staged
  /// through the host's memory.
  RankSum(Communicator& ranks, Communicator& adding, bool on_device = false)
      : ranks_(ranks), adding_(adding), on_device_(on_device) {}
  static Call call(const Executor& executor, ValueIndex value);
  /// Call it before run(), for networks of one device. UnsupportedCase if the ranks cannot add it.
  /// `what`: "of conv1 forward".
  void prepare(const Executor& executor, ValueIndex value, const std::string& what);
  /// `verification`: if set, the sum is compared with its terms. Collective.
  void run(const Executor& executor, ValueIndex value, const std::string& what = "",
           Verification* verification = nullptr) const;
  Communicator& ranks() const { return ranks_; }
  /// The communicator that adds.
  Communicator& adding() const { return staged_ ? *staged_ : adding_; }

 private:
  Communicator &ranks_, &adding_;
  bool on_device_;
  std::unique_ptr<Communicator> staged_;
};

}  // namespace assay
