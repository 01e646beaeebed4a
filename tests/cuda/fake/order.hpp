#pragma once
// The known order of work on the streams of the fake GPU.

namespace fake {

/// Work was submitted to `stream`: after all that the host has waited for.
void submitted_to(const void* stream);
void recorded(const void* event, const void* stream);
/// The next work on `stream` comes after the work behind which `event` was recorded.
void ordered_after(const void* stream, const void* event);
/// The host has waited for a stream, or seen an event.
void awaited_stream(const void* stream);
void awaited_event(const void* event);

}  // namespace fake
