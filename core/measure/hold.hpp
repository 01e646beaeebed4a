#pragma once
// Delays a device while work is submitted to it, so that its clock shows only the work.

#include <string>
#include <utility>

#include "core/api/device.hpp"

namespace assay {

/// Stream::hold() until release() or the end of the scope: otherwise an exception would leave the
/// device held for ever.
class Hold {
 public:
  /// `wanted`: if false, nothing is held.
  explicit Hold(Stream& stream, bool wanted = true)
      : stream_(stream), held_(wanted && stream.hold()) {}
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  bool holds() const { return held_; }
  /// Releases the device. Returns why it began earlier; "" if it did not, or was not held.
  std::string release() { return std::exchange(held_, false) ? stream_.release() : ""; }

 private:
  Stream& stream_;
  bool held_;
};

/// Decides if holding a device is useful for some work. If a library in the work waits for the
/// device, each hold would last as long as possible. So after two early begins in a row, holding
/// stops, and the last reason applies to all later runs.
class EarlyBegins {
 public:
  bool in_vain() const { return in_a_row_ >= 2; }
  void release(Hold& hold) {
    if (!hold.holds()) return;
    why_ = hold.release();
    in_a_row_ = why_.empty() ? 0 : in_a_row_ + 1;
  }
  /// Why times since the last hold() may contain host time; "" if they do not.
  const std::string& why() const { return why_; }

 private:
  int in_a_row_ = 0;
  std::string why_;
};

}  // namespace assay
