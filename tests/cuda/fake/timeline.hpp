#pragma once
// The clock of the fake GPU: when each stream has done its work, whenever the host has submitted
// it. All seconds are those of the monotonic clock.
//
//   FAKE_GPU_WORK_US=N     what each piece of work takes (default, or -1: what it took the host)
//   FAKE_GPU_WORK_US_NAME=N  the same from a run of cuDNN's algorithm NAME to that of another
//   FAKE_GPU_DRIFT=F       each piece takes F times as long as the one before: its clock drifts
//   FAKE_GPU_SUBMIT_US=N   what it costs the host to submit one (default 0): the GPU idles then
//   FAKE_GPU_QUEUE=N       pieces that a stream takes while its GPU waits (default 1024)

#include <cstddef>
#include <cstdint>

namespace fake {

/// Work on `stream` (null: that of the call before), which one call submits in `pieces`.
void begin_work(const void* stream);
void end_work(std::size_t pieces);
void memory_changed();
void record_time(const void* event, const void* stream);
void order_time(const void* stream, const void* event);
/// The stream's later work waits until `*gate` has reached `value`.
void wait_for_gate(const void* stream, const std::uint32_t* gate, std::uint32_t value);
/// The host waits for a stream, or for all of them.
void finish(const void* stream);
void finish_all();
/// True if the GPU has passed an event, and when.
bool passed(const void* event);
double time_of(const void* event);

}  // namespace fake
