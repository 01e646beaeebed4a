#pragma once
// The masks of dropout, as docs/networks.md and kernels/dropout/problem.hpp define them, written
// a second time.

#include <cstdint>
#include <string>

namespace assay {

/// The masks of one layer on one rank.
class ClaimedMask {
 public:
  ClaimedMask(const std::string& layer, std::uint64_t seed, std::int64_t rank);
  /// The key of the layer's random numbers; the rank is in the high half.
  std::int64_t key() const { return static_cast<std::int64_t>(of_rank_ << 32 | of_layer_); }
  /// True if an element is kept in the pass `pass` of a training, if each is dropped with the
  /// probability `p`. Elements are counted with the channels innermost.
  bool keeps(std::int64_t pass, std::int64_t element, double p) const;

 private:
  std::uint64_t of_layer_, of_rank_;
};

}  // namespace assay
