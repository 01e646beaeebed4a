#pragma once
// The stream of a training's samples: that of its device, which is held back while a step is
// submitted, unless the host takes part in the step.

#include <string>
#include <utility>

#include "core/api/device.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {

class StepStream final : public Stream {
 public:
  /// `why_host`: why the host takes part in each step; a device that were held back meanwhile would
  /// wait for the host in no sample. "": it is held.
  StepStream(Stream& of, std::string why_host) : of_(of), why_host_(std::move(why_host)) {}

  void mark(int which) override { of_.mark(which); }
  void wait() override { of_.wait(); }
  double seconds(int from, int to) const override { return of_.seconds(from, to); }
  /// With why_host it holds nothing, and release() says why.
  bool hold() override { return !why_host_.empty() || of_.hold(); }
  std::string release() override {
    if (!why_host_.empty()) return why_host_;
    begun_ = raw_seconds();
    return of_.release();
  }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return of_.record(work);
  }
  NativeHandle native() override { return of_.native(); }

  /// Before a step is submitted.
  void begin() { begun_ = raw_seconds(); }
  /// raw_seconds() when the device has begun with the last step: when it was let go, if it was
  /// held.
  double begun() const { return begun_; }

 private:
  Stream& of_;
  std::string why_host_;
  double begun_ = 0;
};

}  // namespace assay
