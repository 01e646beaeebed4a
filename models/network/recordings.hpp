#pragma once
// Recordings of parts of a network, which a stream can submit with one call.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/api/device.hpp"

namespace assay {

class Recordings {
 public:
  /// Submits `work` to `stream`: directly if it is not `warm` (the first calls of libraries may
  /// allocate, which cannot be recorded), else by the recording of this `key`, which is made once.
  /// Always directly if the stream cannot record, or if recording has failed.
  void run(int key, Stream& stream, bool warm, const std::function<void()>& work);
  /// Discards all recordings, because the work has changed.
  void forget() { recordings_.clear(); }
  bool has(int key) const { return recordings_.contains(key); }
  /// The device's error if recording has failed, else empty.
  const std::string& refusal() const { return refusal_; }

 private:
  std::map<int, std::unique_ptr<Recording>> recordings_;
  bool possible_ = true;
  std::string refusal_;
};

}  // namespace assay
