#pragma once
// A workload whose time is written in a script: the stream's clock is advanced by run(), no wall
// clock is read.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"

namespace assay::testing_fakes {

class ScriptedStream final : public Stream {
 public:
  void mark(int which) override {
    marks_[which & 15] = now;
    now += clock_cost;
  }
  void wait() override { ++waits; }
  double seconds(int from, int to) const override { return marks_[to & 15] - marks_[from & 15]; }
  bool hold() override { return can_hold; }
  std::string release() override { return early; }
  bool can_hold = false;
  std::string early;  ///< why it begins before it is let go
  double now = 0, clock_cost = 0;
  int waits = 0;

 private:
  double marks_[16] = {};
};

class ScriptedWorkload : public Workload {
 public:
  /// `seconds(i)` is the time of the i-th run; it may throw.
  explicit ScriptedWorkload(std::function<double(int)> seconds, bool batchable = false)
      : seconds_(std::move(seconds)), batchable_(batchable) {}
  Stream& stream() override { return stream_; }
  void reset() override {
    ++resets;
    stream_.now += 1024;  // untimed
  }
  void run(Stream&) override { stream_.now += seconds_(runs++); }
  bool batchable() const override { return batchable_; }
  void begin_audit(Audit kind) override {
    audits.push_back(kind);
    audited_runs.push_back(runs);
  }
  Verification end_audit() override {
    Verification verification;
    verification.passed = true;
    return verification;
  }
  Verification verify_before() override { return {}; }
  Verification verify_after() override { return {}; }
  Execution execution() const override { return {}; }
  std::map<std::string, double> work() const override { return {}; }
  std::map<std::string, double> setup() const override { return {}; }

  int runs = 0, resets = 0;
  std::vector<Audit> audits;
  std::vector<int> audited_runs;  ///< runs before each

 private:
  std::function<double(int)> seconds_;
  bool batchable_;
  ScriptedStream stream_;
};

}  // namespace assay::testing_fakes
