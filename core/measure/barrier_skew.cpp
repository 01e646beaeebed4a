#include "core/measure/barrier_skew.hpp"

#include <algorithm>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {

double barrier_skew(Communicator& ranks) {
  constexpr std::size_t rounds = 31;
  if (ranks.size() == 1) return 0;
  const double offset = measure_clock_offset(ranks).offset;
  std::vector<double> last;
  for (std::size_t i = 0; i < rounds; ++i) {
    ranks.barrier();
    last.push_back(raw_seconds() - offset);
  }
  std::vector<double> first;  // negative, because allreduce_max() gives a maximum
  for (const double time : last) first.push_back(-time);
  ranks.allreduce_max(last);
  ranks.allreduce_max(first);
  for (std::size_t i = 0; i < rounds; ++i) last[i] += first[i];
  return std::max(0.0, median(last));
}

}  // namespace assay
