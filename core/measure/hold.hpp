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

/// True if holding a device back is of use for some work. If a library within it waits for the
/// device, each hold lasts as long as the longest one: after two early begins in a row it is given
/// up, and the last reason stands for all runs that follow.
class EarlyBegins {
 public:
  bool in_vain() const { return in_a_row_ >= 2; }
  void release(Hold& hold) {
    if (!hold.holds()) return;
    why_ = hold.release();
    in_a_row_ = why_.empty() ? 0 : in_a_row_ + 1;
  }
  /// Why times since the last hold() may contain those of the host; "" if they do not.
  const std::string& why() const { return why_; }

 private:
  int in_a_row_ = 0;
  std::string why_;
};

}  // namespace assay
