#pragma once
// The common part of workloads that have one list of tensors: fills the tensors with known data,
// and checks all results against an oracle before, during and after the timed phase. A derived
// class defines one run: a single operation, or a step of several calls.

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/buffer_sets.hpp"
#include "core/measure/burn.hpp"
#include "core/measure/verifier.hpp"
#include "core/measure/workload.hpp"

namespace assay {

class VerifiedWorkload : public Workload, private BurnTarget {
 public:
  Stream& stream() final { return device_.stream(); }
  Device* device() final { return &device_; }
  void reset() final;
  void run(Stream& stream) final;
  bool record() final;
  bool batchable() const final { return buffers_.count() == 1 && !has_inout_ && !consumes_; }
  void begin_audit(Audit kind) final;
  Verification end_audit() final;
  Verification verify_before() final;
  Verification verify_after() final;
  Execution execution() const final;
  std::map<std::string, double> work() const final { return amounts_; }
  std::map<std::string, double> take_done() override {
    return {{"runs", static_cast<double>(std::exchange(runs_, 0))}};
  }
  ArrivalSource arrival_source() const final { return setup_.arrivals; }
  std::map<std::string, double> setup() const final { return seconds_; }
  Result<BurnTarget*> burn_target() final;

 protected:
  /// Allocates `specs`; throws CaseError if memory does not suffice. `amounts`: Problem::amounts().
  /// `create_seconds`: how long the operation took to create, for setup(). The constructor of a
  /// derived class must call bind_first() at its end. Tensors are destroyed after the members of
  /// the derived class.
  VerifiedWorkload(Device& device, const std::vector<TensorSpec>& specs,
                   std::unique_ptr<Oracle> oracle, std::map<std::string, double> amounts,
                   double create_seconds, const OperationSetup& setup);
  void bind_first() { bind(buffers_.set(0)); }

  /// Sets the tensors of the following runs, in the order of `specs`. Untimed.
  virtual void bind(std::span<Tensor* const> tensors) = 0;
  /// Operation::prologue: untimed, after the inputs of the bound tensors were written.
  virtual void prologue(Stream&) {}
  /// One run, asynchronous on `stream`. Only the first run after a bind may allocate memory.
  virtual void execute(Stream& stream) = 0;
  virtual Execution describe() const = 0;

 private:
  /// The set after the current one.
  std::size_t next() const { return (current_ + 1) % buffers_.count(); }
  /// Binds the next set of a cold rotation.
  void bind_next();
  /// Verifier::fill and Verifier::refill; the prologue of the set is then due.
  void fill(std::size_t set, Draw draw, double budget_part = 0);
  void refill(std::size_t set, Role role);
  /// Restores what a run overwrites of its own arguments: refills in-place tensors, and marks the
  /// prologue as due if the operation consumes its results.
  void renew(std::size_t set);
  /// Makes the prologue of the bound set if it is due.
  void settle(std::size_t set);
  void check_pass(bool exact, const std::string& when, Verification& result);

  // A burn-in (burn_workload.cpp), with the first set of buffers.
  std::vector<Data> burn_data() final;
  void load_data(std::size_t kind) final;
  void restore() final;
  void poison_outputs() final;
  void run_once() final;
  std::uint64_t digest() final;
  std::vector<BurnOutput> outputs() final;
  Verification check_outputs() final;
  bool is_wrong(const Elements& changed) final;

  Device& device_;
  std::unique_ptr<Oracle> oracle_;
  OperationSetup setup_;
  std::map<std::string, double> amounts_;
  std::chrono::steady_clock::time_point allocation_started_;
  BufferSets buffers_;
  Verifier verifier_;
  std::vector<bool> ran_;  // by set: a run has written its outputs since verify_before
  std::vector<bool> due_;  // by set: its prologue must be made before the next run
  std::map<std::string, double> seconds_;
  std::size_t current_ = 0;
  long runs_ = 0;
  int draws_ = 0;
  std::vector<Draw> burn_draws_;  // by kind of data
  bool has_inout_ = false, consumes_ = false, verified_ = false;
  bool bound_next_ = false;  // begin_audit has bound the next set: the following reset must not
  std::unique_ptr<Recording> recording_;  // of a run with the tensors that are bound
  bool recorded_ = false;                 // runs were submitted by it
};

}  // namespace assay
