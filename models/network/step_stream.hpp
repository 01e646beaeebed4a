#pragma once
// The stream of a training's samples: that of its device, which is held back while a step is
// submitted, unless the host takes part in the step.

#include <functional>
#include <string>
#include <utility>

#include "core/api/device.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {

class StepStream final : public Stream {
 public:
  /// `why_host`: why the host takes part in each step; a device that were held back meanwhile would
  /// wait for the host in no sample. "": it is held.
  /// `wait_for_sums` is called before the host waits for the device.
  StepStream(Stream& stream, std::string why_host, std::function<void()> wait_for_sums)
      : stream_(stream), why_host_(std::move(why_host)), wait_for_sums_(std::move(wait_for_sums)) {}

  void mark(int which) override { stream_.mark(which); }
  void wait() override {
    wait_for_sums_();
    stream_.wait();
  }
  double seconds(int from, int to) const override { return stream_.seconds(from, to); }
  /// With why_host it holds nothing, and release() says why.
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
  /// raw_seconds() when the device has begun with the last step: when it was let go, if it was
  /// held.
  double begun() const { return begun_; }

 private:
  Stream& stream_;
  std::string why_host_;
  std::function<void()> wait_for_sums_;
  double begun_ = 0;
  bool held_ = false;
};

}  // namespace assay
