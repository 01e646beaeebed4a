#pragma once
// Questions that other calls of the fake runtime ask its graphs.

namespace fake {

/// True if a stream is being captured, which is then invalid; for a call that no capture allows.
bool refused_in_capture();

}  // namespace fake
