#pragma once
// What workloads over one list of tensors have in common: the tensors are filled with known data,
// every result is checked against an oracle before, during and after the timed phase. A derived
// class says what one run is: one operation, or a step of several calls.

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/measure/buffer_sets.hpp"
#include "core/measure/verifier.hpp"
#include "core/measure/workload.hpp"

namespace assay {

class VerifiedWorkload : public Workload {
 public:
  Stream& stream() final { return device_.stream(); }
  Result<EnergyMeter*> energy_meter() final { return device_.energy_meter(); }
  void reset() final;
  void run(Stream& stream) final;
  bool batchable() const final { return buffers_.count() == 1 && !has_inout_ && !consumes_; }
  void begin_audit(Audit kind) final;
  Verification end_audit() final;
  Verification verify_before() final;
  Verification verify_after() final;
  Executed executed() const final;
  std::map<std::string, double> work() const final { return amounts_; }
  std::map<std::string, double> setup() const final { return seconds_; }

 protected:
  /// Allocates `specs` (CaseError where memory is short). `amounts`: Problem::amounts(). The
  /// constructor of a derived class calls bind_first() last. Tensors outlive the derived class's
  /// members.
  VerifiedWorkload(Device& device, const std::vector<TensorSpec>& specs,
                   std::unique_ptr<Oracle> oracle, std::map<std::string, double> amounts,
                   double create_seconds, const OperationSetup& setup);
  void bind_first() { bind(buffers_.set(0)); }

  /// Sets the tensors of the following runs, in the order of the specs. Untimed.
  virtual void bind(std::span<Tensor* const> tensors) = 0;
  /// Untimed, on the bound tensors after their inputs were written: Operation::prologue.
  virtual void prologue(Stream&) {}
  /// One run. Asynchronous on `stream`; allocates nothing, except the first one after a bind.
  virtual void execute(Stream& stream) = 0;
  virtual Executed describe() const = 0;

 private:
  /// The set of the next run after a reset.
  std::size_t next() const { return (current_ + 1) % buffers_.count(); }
  /// Binds the next set of a cold rotation.
  void bind_next();
  /// Writes the inputs of a set, or again those of one role; its prologue is then due.
  void fill(std::size_t set, Draw draw, double budget_part = 0);
  void refill(std::size_t set, Role role);
  /// What a run overwrites of its own arguments: in-place tensors again, and the prologue is due.
  void renew(std::size_t set);
  /// Makes the prologue of the bound set where it is due.
  void settle(std::size_t set);
  void check_pass(bool exact, const std::string& when, Verification& result);

  Device& device_;
  std::unique_ptr<Oracle> oracle_;
  OperationSetup setup_;
  std::map<std::string, double> amounts_;
  std::chrono::steady_clock::time_point allocation_started_;
  BufferSets buffers_;
  Verifier verifier_;
  std::vector<bool> ran_;  // by set, since verify_before
  std::vector<bool> due_;  // by set: inputs were written since its prologue
  std::map<std::string, double> seconds_;
  std::size_t current_ = 0;
  int draws_ = 0;
  bool has_inout_ = false, consumes_ = false, verified_ = false;
  bool bound_next_ = false;  // by an audit, for the reset that follows
};

}  // namespace assay
