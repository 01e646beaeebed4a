#include "core/measure/barrier_skew.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/agreement.hpp"

namespace assay {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The clock of this rank's host less that of rank 0's (Cristian, Distributed Computing 3, 1989):
/// the first rank of each other host asks rank 0 for its time.
double clock_offset(Communicator& ranks) {
  constexpr int trips = 20, tag = 19;
  HostStream stream;
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  double offset = 0;
  for (int asker = 1; asker < ranks.size(); ++asker) {
    const auto end = hosts.begin() + asker;
    if (std::find(hosts.begin(), end, *end) != end) continue;  // no first rank
    double shortest = -1;
    for (int trip = 0; trip < trips; ++trip) {
      double theirs = 0;
      const Buffer message{&theirs, 1, DataType::fp64};
      const auto say = [&](int to) {
        Request request = ranks.send(message, to, tag, stream);
        ranks.wait(request);
      };
      const auto hear = [&](int from) {
        Request request = ranks.receive(message, from, tag, stream);
        ranks.wait(request);
      };
      if (ranks.rank() == asker) {
        const double asked = seconds_now();
        say(0);
        hear(0);
        const double answered = seconds_now();
        if (shortest < 0 || answered - asked < shortest) {
          shortest = answered - asked;
          offset = (asked + answered) / 2 - theirs;
        }
      } else if (ranks.rank() == 0) {
        hear(asker);
        theirs = seconds_now();
        say(asker);
      }
    }
  }
  const auto mine = std::find(hosts.begin(), hosts.end(), ranks.host()) - hosts.begin();
  return all_numbers(offset, ranks).at(static_cast<std::size_t>(mine));
}

}  // namespace

double barrier_skew(Communicator& ranks) {
  constexpr std::size_t rounds = 31;
  if (ranks.size() == 1) return 0;
  const double offset = clock_offset(ranks);
  std::vector<double> last;
  for (std::size_t i = 0; i < rounds; ++i) {
    ranks.barrier();
    last.push_back(seconds_now() - offset);
  }
  std::vector<double> first;  // as its negative: what ranks find together is a maximum
  for (const double time : last) first.push_back(-time);
  ranks.allreduce_max(last);
  ranks.allreduce_max(first);
  for (std::size_t i = 0; i < rounds; ++i) last[i] += first[i];
  return std::max(0.0, median(last));
}

}  // namespace assay
