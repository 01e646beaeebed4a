// Order by vector clocks (L. Lamport 1978, F. Mattern 1989): a stream counts its work, and knows up
// to where that of each other stream must be done before its own next work. The fake itself does
// all work at once, so that only this shows where a real GPU could do it too early.
#include "tests/cuda/fake/order.hpp"

#include <algorithm>
#include <map>

namespace fake {
namespace {

using Clock = std::map<const void*, long>;  ///< by stream

std::map<const void*, Clock> streams, events;
Clock host;

void merge(Clock& into, const Clock& other) {
  for (const auto& [stream, count] : other) into[stream] = std::max(into[stream], count);
}

}  // namespace

void submitted_to(const void* stream) {
  Clock& mine = streams[stream];
  merge(mine, host);
  ++mine[stream];
}
void recorded(const void* event, const void* stream) {
  merge(streams[stream], host);
  events[event] = streams[stream];
}
void ordered_after(const void* stream, const void* event) { merge(streams[stream], events[event]); }
void awaited_stream(const void* stream) { merge(host, streams[stream]); }
void awaited_event(const void* event) { merge(host, events[event]); }

}  // namespace fake

/// True if all work of all streams comes before what is submitted to this one next. Serves other
/// fakes, which also submit by this call.
extern "C" int fake_gpu_submits_in_order(const void* stream) {
  fake::submitted_to(stream);
  const fake::Clock& mine = fake::streams[stream];
  return std::all_of(fake::streams.begin(), fake::streams.end(), [&](const auto& other) {
    const auto known = mine.find(other.first);
    const auto count = other.second.find(other.first);
    return count == other.second.end() || (known != mine.end() && known->second >= count->second);
  });
}
