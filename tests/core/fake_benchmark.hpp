#pragma once
// A benchmark without backend, whose workload does what a test tells it.

#include <functional>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/program/benchmark.hpp"

namespace assay::testing_fakes {

struct Script {
  std::function<void()> run = [] {};
  std::function<Verification()> before = [] { return good(); };
  std::function<Verification()> during = [] { return good(); };
  std::function<Verification()> after = [] { return good(); };
  Execution execution = [] {
    Execution made;
    made.implementation = "fake";
    return made;
  }();
  static Verification good() {
    Verification verification;
    verification.passed = true;
    verification.reference = "test";
    return verification;
  }
  static Verification bad(const std::string& reason) {
    Verification verification = good();
    verification.passed = false;
    verification.reason = reason;
    return verification;
  }
};

class FakeWorkload final : public Workload {
 public:
  explicit FakeWorkload(Script script) : script_(std::move(script)) {}
  Stream& stream() override { return stream_; }
  void reset() override {}
  void run(Stream&) override { script_.run(); }
  bool batchable() const override { return true; }
  void begin_audit(Audit) override {}
  Verification end_audit() override { return script_.during(); }
  Verification verify_before() override { return script_.before(); }
  Verification verify_after() override { return script_.after(); }
  Execution execution() const override { return script_.execution; }
  std::map<std::string, double> work() const override { return {{"flops_per_s", 100}}; }
  std::map<std::string, double> setup() const override { return {{"create", 0.5}}; }

 private:
  Script script_;
  HostStream stream_;
};

class FakeBenchmark : public Benchmark {
 public:
  std::string name() const override {
    return "conv";
  }  // so that the shipped lists of conv can be asked for
  std::string description() const override { return "fake"; }
  std::vector<Dimension> dimensions() const override {
    return {{"direction", "", {"forward", "bwd_data"}, {"forward"}, "", ""},
            {"algorithm", "", {"auto", "direct"}, {"auto"}, "", ""},
            dimension::problem({"mb1"}),
            dimension::threads()};
  }
  std::string canonical(const std::string& descriptor) const override {
    if (descriptor.find("ic0") != std::string::npos) throw InputError("field ic is zero");
    if (!descriptor.starts_with("mb") && !descriptor.starts_with("ic"))
      throw InputError("no descriptor '" + descriptor + "'");
    return descriptor;
  }
  std::shared_ptr<const Problem> problem(const Case&) const override { return nullptr; }
  Result<std::unique_ptr<Workload>> prepare(const Case&, CaseContext&) const override {
    if (!refusal.empty()) return Unsupported{refusal};
    if (failure) failure();
    return std::unique_ptr<Workload>(std::make_unique<FakeWorkload>(script));
  }

  Script script;
  std::string refusal;
  std::function<void()> failure;
};

}  // namespace assay::testing_fakes
