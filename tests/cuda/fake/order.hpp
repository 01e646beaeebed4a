#pragma once
// What is known of the order of work on the streams of the fake GPU.

namespace fake {

/// Work was submitted to `stream`: after all that the host has waited for.
void submitted_to(const void* stream);
void recorded(const void* event, const void* stream);
/// What is submitted to `stream` next comes after what `event` was recorded behind.
void ordered_after(const void* stream, const void* event);
/// The host has waited for a stream, or seen an event.
void awaited_stream(const void* stream);
void awaited_event(const void* event);

}  // namespace fake
