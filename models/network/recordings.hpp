#pragma once
// Parts of a network that a stream submits at once, after it has recorded them.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/api/device.hpp"

namespace assay {

class Recordings {
 public:
  /// Submits `work` to `stream`: directly until it is `warm` (libraries prepare themselves in their
  /// first calls, which no recording may hold), then by its recording, which is made once under
  /// `key`. Where the stream makes none, or the work cannot be recorded, always directly.
  void run(int key, Stream& stream, bool warm, const std::function<void()>& work);
  /// Of work that has changed.
  void forget() { made_.clear(); }
  bool any() const { return !made_.empty(); }
  /// Why work is submitted directly, in the device's words; empty where a stream makes no
  /// recordings, or none has failed.
  const std::string& refusal() const { return refusal_; }

 private:
  std::map<int, std::unique_ptr<Recording>> made_;
  bool possible_ = true;
  std::string refusal_;
};

}  // namespace assay
