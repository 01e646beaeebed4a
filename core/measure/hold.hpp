#pragma once
// Holds a device back while work is submitted to it, so that its clock shows the work alone.

#include <string>
#include <utility>

#include "core/api/device.hpp"

namespace assay {

/// Stream::hold() until release(), or until the end of the scope: a device that is held when an
/// exception passes would never end.
class Hold {
 public:
  /// `wanted`: else nothing is held.
  explicit Hold(Stream& stream, bool wanted = true)
      : stream_(stream), held_(wanted && stream.hold()) {}
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  bool holds() const { return held_; }
  /// Lets the device begin. Returns why it had begun before; "" if it had not, or was not held.
  std::string release() { return std::exchange(held_, false) ? stream_.release() : ""; }

 private:
  Stream& stream_;
  bool held_;
};

}  // namespace assay
