#pragma once
// Questions that other calls of the fake runtime ask its graphs.

namespace fake {

/// For a call that no capture allows: whether a stream is being captured, which is then invalid.
bool refused_in_capture();

}  // namespace fake
