// One operation of one backend as a workload: what is timed, and which data it is checked on.

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "core/measure/buffer_sets.hpp"
#include "core/measure/verifier.hpp"
#include "core/measure/workload.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs after one binding in each pass, all of which are checked: a computation may be right in the
/// first alone.
constexpr int runs_of_pass = 2;

/// A check within the timed phase has a smaller sample: there are several.
constexpr double budget_of_audit = 0.25;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class OperationWorkload final : public Workload {
 public:
  OperationWorkload(const Problem& problem, std::unique_ptr<Operation> operation, Device& device,
                    std::unique_ptr<Oracle> oracle, double create_seconds,
                    const OperationSetup& setup)
      : device_(device),
        oracle_(std::move(oracle)),
        setup_(setup),
        work_(problem.amounts()),
        allocation_started_(Clock::now()),
        buffers_(device, operation->arguments(), setup.cold, setup.ranks_here),
        verifier_(buffers_, *oracle_, [this] { return executed(); },
                  {setup.seed, setup.reference_budget, setup.rank}),
        operation_(std::move(operation)),
        ran_(buffers_.count(), false) {
    if (problem.flops() > 0) work_["flops_per_s"] = problem.flops();
    // A collective's bytes have a name of their own already.
    if (problem.bytes() > 0 && !work_.contains("algbw")) work_["bytes_per_s"] = problem.bytes();
    for (const TensorSpec& spec : buffers_.specs()) has_inout_ |= spec.role == Role::inout;
    operation_->bind(buffers_.set(0));
    seconds_ = {{"create", create_seconds},
                {"allocate", since(allocation_started_)},
                {"fill", 0},
                {"reorder", 0},
                {"verify", 0}};
  }

  Stream& stream() override { return device_.stream(); }

  void reset() override {
    if (buffers_.count() > 1) {
      current_ = next();
      operation_->bind(buffers_.set(current_));
    }
    if (has_inout_) verifier_.refill(current_, Role::inout);
  }

  void run(Stream& stream) override {
    ran_[current_] = true;
    operation_->run(stream);
  }

  bool batchable() const override { return buffers_.count() == 1 && !has_inout_; }

  Verification verify_before() override {
    const auto start = Clock::now();
    Verification result;
    result.passed = true;
    if (verifier_.begin(true)) check_pass(true, "before timing", result);
    verifier_.begin(false);
    check_pass(false, "before timing", result);
    // Poisoned again: what verify_after sees was written by the timed runs.
    for (std::size_t set = 0; set < buffers_.count(); ++set) buffers_.poison(set);
    std::fill(ran_.begin(), ran_.end(), false);
    current_ = buffers_.count() - 1;  // the first reset binds the first set
    verified_ = true;
    seconds_["fill"] = verifier_.fill_seconds();
    seconds_["reorder"] = verifier_.reorder_seconds();
    seconds_["verify"] += since(start) - seconds_["fill"] - seconds_["reorder"];
    return result;
  }

  void begin_audit(Audit kind) override {
    if (kind == Audit::poisoned_outputs)
      buffers_.poison(next());
    else
      verifier_.fill(next(), {false, ++draws_}, budget_of_audit);
    device_.stream().wait();
  }

  Verification end_audit() override {
    Verification result;
    result.passed = true;
    device_.stream().wait();
    verifier_.check(current_, "in the timed phase", result);
    return result;
  }

  Verification verify_after() override {
    const auto start = Clock::now();
    if (!verified_)
      throw std::logic_error("verify_after without a passed verify_before (nothing is expected).");
    Verification result;
    result.passed = true;
    for (std::size_t set = 0; set < buffers_.count() && result.passed; ++set)
      if (ran_[set]) verifier_.check(set, "as the last timed run left it", result);
    ++draws_;  // other inputs than any timed run had
    const bool exact = verifier_.begin(true);
    if (!exact) verifier_.begin(false);
    check_pass(exact, "after timing", result);
    seconds_["verify"] += since(start);
    return result;
  }

  Executed executed() const override {
    Executed ran = operation_->executed();
    if (setup_.threads > 0) ran.numbers["threads"] = setup_.threads;
    return ran;
  }

  std::map<std::string, double> work() const override { return work_; }

  std::map<std::string, double> setup() const override { return seconds_; }

 private:
  /// The set of the next run after a reset.
  std::size_t next() const { return (current_ + 1) % buffers_.count(); }

  /// Fills every set, then poisons, runs and checks each several times. Runs happen even after a
  /// failure: in a collective each rank has its own verdict, and all must make the same calls.
  void check_pass(bool exact, const std::string& when, Verification& result) {
    for (std::size_t set = 0; set < buffers_.count(); ++set) verifier_.fill(set, {exact, draws_});
    for (int run = 0; run < runs_of_pass; ++run) {
      for (std::size_t set = 0; set < buffers_.count(); ++set) {
        buffers_.poison(set);
        if (run == 0) continue;
        verifier_.refill(set, Role::inout);
        verifier_.refill(
            set,
            Role::unmodified);  // else another rank's fault would be found in what follows
      }
      for (std::size_t set = 0; set < buffers_.count(); ++set) {
        // Hot runs follow one binding, as they do when they are timed.
        if (run == 0 || buffers_.count() > 1) operation_->bind(buffers_.set(set));
        operation_->run(device_.stream());
      }
      device_.stream().wait();
      for (std::size_t set = 0; set < buffers_.count() && !result.wrong(); ++set)
        verifier_.check(set, when, result);
    }
  }

  Device& device_;
  std::unique_ptr<Oracle> oracle_;
  OperationSetup setup_;
  std::map<std::string, double> work_;
  Clock::time_point allocation_started_;
  BufferSets buffers_;
  Verifier verifier_;
  std::unique_ptr<Operation> operation_;  // after the tensors: gone before them
  std::vector<bool> ran_;                 // by set, since verify_before
  std::map<std::string, double> seconds_;
  std::size_t current_ = 0;
  int draws_ = 0;
  bool has_inout_ = false, verified_ = false;
};

}  // namespace

std::unique_ptr<Workload> operation_workload(const Problem& problem,
                                             std::unique_ptr<Operation> operation, Device& device,
                                             std::unique_ptr<Oracle> oracle, double create_seconds,
                                             const OperationSetup& setup) {
  return std::make_unique<OperationWorkload>(problem, std::move(operation), device,
                                             std::move(oracle), create_seconds, setup);
}

}  // namespace assay
