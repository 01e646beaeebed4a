#include "core/measure/verified_workload.hpp"
#include "core/api/prover.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <stdexcept>

namespace assay {
namespace {

/// Runs after one binding in each pass. All are checked, since a computation may be correct only in
/// its first run.
constexpr int runs_of_pass = 2;

/// An audit checks a smaller sample, since there are several audits.
constexpr double budget_of_audit = 0.25;

using Clock = std::chrono::steady_clock;

}  // namespace

VerifiedWorkload::VerifiedWorkload(Device& device, const std::vector<TensorSpec>& specs,
                                   std::unique_ptr<Oracle> oracle,
                                   std::map<std::string, double> amounts, double create_seconds,
                                   const OperationSetup& setup)
    : device_(device),
      oracle_(std::move(oracle)),
      setup_(setup),
      amounts_(std::move(amounts)),
      allocation_started_(Clock::now()),
      buffers_(device, specs, setup.cold, setup.ranks_here),
      verifier_(buffers_, *oracle_, [this] { return execution(); },
                {setup.seed, setup.reference_budget, setup.rank}),
      ran_(buffers_.count(), false),
      due_(buffers_.count(), true),
      seconds_{{"create", create_seconds},
               {"allocate", seconds_since(allocation_started_)},
               {"fill", 0},
               {"reorder", 0},
               {"untimed_runs", 0},
               {"verify", 0}} {
  if (Prover* const prover = device.prover()) oracle_->use(*prover);
  for (const TensorSpec& spec : specs) {
    has_inout_ |= spec.role == Role::inout;
    consumes_ |= spec.role == Role::consumed;
  }
}

void VerifiedWorkload::reset() {
  if (!bound_next_) bind_next();
  bound_next_ = false;
  renew(current_);
  settle(current_);
}

void VerifiedWorkload::bind_next() {
  if (buffers_.count() == 1) return;
  current_ = next();
  bind(buffers_.set(current_));
}

void VerifiedWorkload::fill(std::size_t set, Draw draw, double budget_part) {
  verifier_.fill(set, draw, budget_part);
  due_[set] = true;
}

void VerifiedWorkload::refill(std::size_t set, Role role) {
  verifier_.refill(set, role);
  for (const TensorSpec& spec : buffers_.specs())
    if (spec.role == role) due_[set] = true;
}

void VerifiedWorkload::renew(std::size_t set) {
  if (has_inout_) refill(set, Role::inout);
  if (consumes_) due_[set] = true;
}

void VerifiedWorkload::settle(std::size_t set) {
  if (!due_[set]) return;
  due_[set] = false;
  prologue(device_.stream());
  device_.stream().wait();
}

void VerifiedWorkload::run(Stream& stream) {
  ran_[current_] = true;
  recorded_ |= recording_ != nullptr;
  if (recording_)
    recording_->submit();
  else
    execute(stream);
  ++runs_;
}

/// Prologues write into tensors that are bound, and change nothing that a run submits. A library of
/// collectives has a host's part in each run.
bool VerifiedWorkload::record() {
  if (buffers_.count() == 1 && setup_.arrivals.kind != ArrivalSource::Kind::collective) try {
      recording_ = device_.stream().record([this] { execute(device_.stream()); });
    } catch (const CaseError&) {  // it waits, or allocates
    }
  return recording_ != nullptr;
}

Verification VerifiedWorkload::verify_before() {
  const auto start = Clock::now();
  const double other_runs = seconds_["untimed_runs"];
  Verification result;
  result.passed = true;
  if (verifier_.begin(true)) check_pass(true, "before timing", result);
  verifier_.begin(false);
  check_pass(false, "before timing", result);
  // Poisons again, so that verify_after sees only what the timed runs wrote.
  for (std::size_t set = 0; set < buffers_.count(); ++set) buffers_.poison(set);
  std::fill(ran_.begin(), ran_.end(), false);
  current_ = buffers_.count() - 1;  // the first reset binds the first set
  verified_ = true;
  seconds_["fill"] = verifier_.fill_seconds();
  seconds_["reorder"] = verifier_.reorder_seconds();
  seconds_["verify"] += seconds_since(start) - seconds_["fill"] - seconds_["reorder"] -
                        (seconds_["untimed_runs"] - other_runs);
  return result;
}

void VerifiedWorkload::begin_audit(Audit kind) {
  // Binds before the tensors change: a bind is not timed, so nothing that it computes may be useful
  // to the run.
  bind_next();
  bound_next_ = true;
  if (kind == Audit::poisoned_outputs)
    buffers_.poison(current_);
  else
    fill(current_, {false, ++draws_}, budget_of_audit);
  device_.stream().wait();
}

Verification VerifiedWorkload::end_audit() {
  Verification result;
  result.passed = true;
  device_.stream().wait();
  verifier_.check(current_, "in the timed phase", result);
  // The timed runs continue with their own data, to which the results of this run do not belong.
  if (verifier_.restore(current_)) {
    due_[current_] = true;
    ran_[current_] = false;
  }
  return result;
}

Verification VerifiedWorkload::verify_after() {
  const auto start = Clock::now();
  const double other_runs = seconds_["untimed_runs"];
  if (!verified_)
    throw std::logic_error("verify_after without a passed verify_before (nothing is expected).");
  Verification result;
  result.passed = true;
  for (std::size_t set = 0; set < buffers_.count() && result.passed; ++set)
    if (ran_[set]) verifier_.check(set, "as the last timed run left it", result);
  ++draws_;  // inputs that no timed run had
  const bool exact = verifier_.begin(true);
  if (!exact) verifier_.begin(false);
  check_pass(exact, "after timing", result);
  seconds_["verify"] += seconds_since(start) - (seconds_["untimed_runs"] - other_runs);
  return result;
}

Execution VerifiedWorkload::execution() const {
  Execution ran = describe();
  if (setup_.threads > 0) ran.numbers["threads"] = setup_.threads;
  if (recorded_) ran.implementation += ", each run submitted as one recording";
  return ran;
}

/// Fills every set, then poisons, runs and checks each several times. Runs continue even after a
/// failure, because ranks have different verdicts, but must make the same collective calls. Runs
/// and prologues are timed separately: a slow operation is not a cost of the check.
void VerifiedWorkload::check_pass(bool exact, const std::string& when, Verification& result) {
  recording_.reset();  // a binding follows
  for (std::size_t set = 0; set < buffers_.count(); ++set) fill(set, {exact, draws_});
  for (int run = 0; run < runs_of_pass; ++run) {
    for (std::size_t set = 0; set < buffers_.count(); ++set) {
      buffers_.poison(set);
      if (run == 0) continue;
      renew(set);
      refill(set, Role::unmodified);  // else a fault would also be found in later runs
    }
    const auto start = Clock::now();
    for (std::size_t set = 0; set < buffers_.count(); ++set) {
      // Hot runs share one binding, as in the timed phase.
      if (run == 0 || buffers_.count() > 1) bind(buffers_.set(set));
      settle(set);
      execute(device_.stream());
    }
    device_.stream().wait();
    seconds_["untimed_runs"] += seconds_since(start);
    for (std::size_t set = 0; set < buffers_.count() && !result.wrong(); ++set)
      verifier_.check(set, when, result);
  }
}

}  // namespace assay
