#include "core/run_case.hpp"

#include <algorithm>
#include <new>

#include "core/error.hpp"

namespace assay {

namespace {

enum Gravity { fine = 0, no = 1, wrong = 2, broken = 3 };

const char* status_name(int gravity) {
  constexpr const char* names[] = {"ok", "unsupported", "incorrect", "failed"};
  return names[gravity];
}

/// What one rank found in one step.
struct Finding {
  int gravity = fine;
  std::string reason;
};

/// Runs one step; an exception is a finding.
template <class Step>
Finding attempt(const Step& step) {
  try {
    return step();
  } catch (const InputError&) {
    throw;  // bad usage that only shows here still ends the program
  } catch (const std::bad_alloc&) {
    return {broken,
            "out of memory (an allocation failed). Use a smaller problem or a machine with more "
            "memory."};
  } catch (const std::exception& error) {
    return {broken, error.what()};
  }
}

/// Everybody's finding is the gravest one; the reason names the ranks that have it.
Finding agreed(const Finding& mine, Communicator& ranks) {
  if (ranks.size() == 1) return mine;
  double gravity = mine.gravity;
  ranks.maximum(std::span(&gravity, 1));
  const int gravest = static_cast<int>(gravity);
  if (gravest == fine) return {};
  const std::vector<std::string> reasons = ranks.gather(mine.gravity == gravest ? mine.reason : "");
  const std::vector<std::string> hosts = ranks.gather(ranks.host());
  Finding all{gravest, ""};
  for (std::size_t rank = 0; rank < reasons.size(); ++rank)
    if (!reasons[rank].empty()) {
      all.reason = "rank " + std::to_string(rank) + " on " + hosts[rank] + ": " + reasons[rank];
      break;
    }
  return all;
}

}  // namespace

Outcome run_case(const Benchmark& benchmark, const Case& one, CaseContext& context,
                 const TimingOptions& options) {
  Outcome outcome;
  std::unique_ptr<Workload> workload;
  // Returns whether to go on.
  auto step = [&](const auto& body) {
    const Finding finding = agreed(attempt(body), context.ranks);
    if (finding.gravity == fine) return true;
    outcome.status = status_name(finding.gravity);
    outcome.reason = finding.reason;
    return false;
  };
  auto check = [&](const Verification& checked) -> Finding {
    const bool passed = checked.passed;
    // The worse of the two checks is the row's: a late fault must not hide behind an early success.
    if (!outcome.verification || !passed ||
        checked.error_over_bound > outcome.verification->error_over_bound)
      outcome.verification = checked;
    return passed ? Finding{}
                  : Finding{wrong,
                            checked.reason.empty() ? "differs from the reference" : checked.reason};
  };

  bool good = step([&]() -> Finding {
    Made<std::unique_ptr<Workload>> made = benchmark.prepare(one, context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) return {no, refusal->reason};
    workload = std::move(std::get<std::unique_ptr<Workload>>(made));
    return {};
  });
  if (!good) return outcome;
  outcome.executed = workload->executed();
  good = step([&] { return check(workload->verify_before()); });
  if (good)
    good = step([&]() -> Finding {
      Timing timing = measure(*workload, context.ranks, options);
      if (timing.samples.empty()) return {broken, "no iteration was timed"};
      outcome.timing = std::move(timing);
      return {};
    });
  if (good) good = step([&] { return check(workload->verify_after()); });
  if (!good) outcome.timing.reset();
  outcome.executed = workload->executed();
  outcome.work = workload->work();
  outcome.setup = workload->setup();
  return outcome;
}

}  // namespace assay
