#pragma once
// The stream that times the steps of a training: its device's stream, which is held back while a
// step is submitted, unless the host takes part in the step.

#include <functional>
#include <string>
#include <utility>

#include "core/api/device.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {

class StepStream final : public Stream {
 public:
  /// `why_host`: why the host takes part in each step, so that the device is not held; if it were,
  /// no sample would include its waits for the host. "": the device is held. `wait_for_sums` is
  /// called before the host waits for the device.
  StepStream(Stream& stream, std::string why_host, std::function<void()> wait_for_sums)
      : stream_(stream), why_host_(std::move(why_host)), wait_for_sums_(std::move(wait_for_sums)) {}

  void mark(int which) override { stream_.mark(which); }
  void wait() override {
    wait_for_sums_();
    stream_.wait();
  }
  double seconds(int from, int to) const override { return stream_.seconds(from, to); }
  /// With why_host, holds nothing; release() returns the reason.
  bool hold() override { return !why_host_.empty() || stream_.hold(); }
  std::string release() override {
    if (!why_host_.empty()) return why_host_;
    begun_ = raw_seconds();
    const std::string why = stream_.release();
    held_ = why.empty();
    return why;
  }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return stream_.record(work);
  }
  NativeHandle native() override { return stream_.native(); }

  /// Before a step is submitted.
  void begin() {
    begun_ = raw_seconds();
    held_ = false;
  }
  /// True if the device was held until all of the last step was submitted.
  bool held() const { return held_; }
  /// raw_seconds() when the device began the last step; if it was held, when it was released.
  double begun() const { return begun_; }

 private:
  Stream& stream_;
  std::string why_host_;
  std::function<void()> wait_for_sums_;
  double begun_ = 0;
  bool held_ = false;
};

}  // namespace assay
