#include "core/measure/audits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double part_of_time = 0.2;  // of the time, for checks beside the timed runs
constexpr double times_slower = 4, allowance_s = 500e-6, allowance_of_ranks_s = 20e-3;
constexpr int most_repeats = 20;   // a busy machine may delay some runs, but not every run
constexpr int most_ordinary = 50;  // ordinary runs before a repeat
constexpr auto pause = std::chrono::milliseconds(20);

}  // namespace

Audits::Audits(Sampler& sampler, Communicator& ranks)
    : sampler_(sampler), ranks_(ranks), random_(std::random_device{}()) {
  verification_.passed = true;
}

std::vector<Audits::Moment> Audits::plan(int count, double elapsed) {
  double wanted = first_ || seconds_ < part_of_time * elapsed ? 1 : 0;
  first_ = false;
  wanted = ranks_.broadcast(wanted);
  if (wanted == 0) return {};
  // Moment and kind are one number, because ranks agree on numbers.
  const auto code = static_cast<int>(
      ranks_.broadcast(static_cast<double>(random_() % (2 * static_cast<std::uint64_t>(count)))));
  return {{code / 2, code % 2 == 1 ? Audit::new_inputs : Audit::poisoned_outputs}};
}

std::vector<Audit> Audits::last(bool slow) {
  if (slow) return {Audit::new_inputs, Audit::new_inputs};
  return {Audit::new_inputs, Audit::poisoned_outputs};
}

double Audits::run_and_check(Audit kind) {
  Verification verification = verification_;
  double seconds = sampler_.audit(kind, verification);
  sampler_.settle();
  ranks_.allreduce_max(std::span(&seconds, 1));
  ++runs_;
  if (verification_.passed) verification_ = verification;
  if (kind == Audit::poisoned_outputs)
    fastest_ = fastest_ < 0 ? seconds : std::min(fastest_, seconds);
  return seconds;
}

bool Audits::run(Audit kind, bool samples_follow) {
  const auto start = Clock::now();
  for (int i = 0; i < (kind == Audit::poisoned_outputs ? 2 : 1); ++i) run_and_check(kind);
  if (samples_follow) {
    sampler_.once();
    sampler_.settle();
  }
  seconds_ += seconds_since(start);
  double wrong = verification_.passed ? 0 : 1;
  ranks_.allreduce_max(std::span(&wrong, 1));
  return wrong == 0;
}

double Audits::ordinary_run() {
  double seconds = sampler_.extra_run();
  sampler_.settle();
  ranks_.allreduce_max(std::span(&seconds, 1));
  return seconds;
}

void Audits::compare_with(double median) {
  if (fastest_ < 0) return;
  const double limit =
      times_slower * median + (ranks_.size() > 1 ? allowance_of_ranks_s : allowance_s);
  // All ranks have the same times, so they continue together. On a busy machine, threads that slept
  // while results were read wake late, or on the processor of another thread of the team. So each
  // repeat follows an ordinary run that was fast, or a pause in which the load may change.
  bool busy = true;
  for (int i = 0; fastest_ > limit && i < most_repeats; ++i) {
    double ordinary = ordinary_run();
    for (int run = 1; ordinary > limit && run < most_ordinary; ++run) ordinary = ordinary_run();
    busy = busy && ordinary > limit;
    if (ordinary > limit) std::this_thread::sleep_for(pause);
    run_and_check(Audit::poisoned_outputs);
  }
  if (fastest_ <= limit) return;
  if (busy)
    throw CaseError(fmt::format(
        "disturbed: the timed runs took {:.3g} s (the median), and none of {} later runs less than "
        "{:.3g} s. It cannot be verified that the timed runs computed. Repeat it on a quiet "
        "machine.",
        median, most_repeats * most_ordinary, limit));
  throw CaseError(
      fmt::format("impossible: runs on outputs that had been overwritten took {:.3g} s at least, "
                  "the timed ones "
                  "{:.3g} s (the median). The timed runs did not do the same work.",
                  fastest_, median));
}

}  // namespace assay
