#pragma once
// One pass over all elements of a tensor, as Device::get() passes them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/api/device.hpp"

namespace assay {

/// True if a result of this type never has this value: NaN, infinity or the smallest s32.
bool no_result(DataType type, double value);

/// A sink for Device::get(): the weighted sum, the elements that are not results, and those of a
/// sample. Integers must be summed exactly, so the sums of blocks are added by Neumaier's method.
class Scan {
 public:
  /// `indices`: sorted; must outlive the scan, as `weights`. Null weights: no sum is wanted.
  Scan(DataType type, std::span<const std::int64_t> indices, const ChecksumWeights* weights);
  void operator()(std::int64_t first, std::span<const double> values);
  /// Call it after all elements.
  ScanResult take();

 private:
  void note_bad(std::int64_t first, std::span<const double> values, std::size_t count);
  void add_weighted(std::int64_t first, std::span<const double> values, bool rounded);
  void add(double part);

  std::span<const std::int64_t> indices_;
  std::vector<double> factors_;
  const ChecksumWeights* weights_;
  std::size_t next_ = 0;
  double limit_, exact_below_, unit_, carry_ = 0;
  ScanResult result_;
};

}  // namespace assay
