#include "core/run_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/error.hpp"
#include "core/lone_failure.hpp"

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
  // What is so on every rank is nobody's.
  if (std::all_of(reasons.begin(), reasons.end(),
                  [&](const std::string& reason) { return reason == reasons.front(); }))
    return {gravest, reasons.front()};
  Finding all{gravest, ""};
  for (std::size_t rank = 0; rank < reasons.size(); ++rank)
    if (!reasons[rank].empty()) {
      all.reason = "rank " + std::to_string(rank) + " on " + hosts[rank] + ": " + reasons[rank];
      break;
    }
  return all;
}

/// One verification for all ranks: each has checked its own results, and the worst of them counts.
Verification of_all(Verification mine, Communicator& ranks) {
  if (ranks.size() == 1) return mine;
  double worst[] = {mine.max_error, mine.norm_error, mine.error_over_bound, mine.bound,
                    mine.norm_bound};
  ranks.maximum(worst);
  mine.max_error = worst[0], mine.norm_error = worst[1], mine.error_over_bound = worst[2];
  mine.bound = worst[3], mine.norm_bound = worst[4];
  double bad = mine.passed ? 0 : 1;
  ranks.maximum(std::span(&bad, 1));
  mine.passed = bad == 0;
  std::int64_t checked = 0, outputs = 0;
  for (const std::string& text : ranks.gather(fmt::format("{} {}", mine.checked, mine.outputs))) {
    checked += std::stoll(text);
    outputs += std::stoll(text.substr(text.find(' ')));
  }
  mine.checked = checked;
  mine.outputs = outputs;
  mine.reference += fmt::format("; {} of {} on all {} ranks", checked, outputs, ranks.size());
  return mine;
}

/// The worst of several checks is the row's: a late fault must not hide behind an early success.
void add_worse(Verification& all, const Verification& check) {
  if (check.error_over_bound > all.error_over_bound) {
    all.error_over_bound = check.error_over_bound;
    all.bound = check.bound;
  }
  all.max_error = std::max(all.max_error, check.max_error);
  all.norm_error = std::max(all.norm_error, check.norm_error);
  all.norm_bound = std::max(all.norm_bound, check.norm_bound);
}

}  // namespace

Outcome run_case(const Benchmark& benchmark, const Case& one, CaseContext& context,
                 const TimingOptions& options) {
  Outcome outcome;
  std::unique_ptr<Workload> workload;
  auto settle = [&](const Finding& finding) {
    if (finding.gravity == fine) return true;
    outcome.status = status_name(finding.gravity);
    outcome.reason = finding.reason;
    return false;
  };
  // Both return whether to go on.
  auto step = [&](const auto& body) { return settle(agreed(attempt(body), context.ranks)); };
  auto verify = [&](const auto& body) {
    Verification own;
    const Finding mine = attempt([&]() -> Finding {
      own = body();
      if (own.passed) return {};
      if (own.undecided) return {no, own.reason};
      return {wrong, own.reason.empty() ? "differs from the reference" : own.reason};
    });
    if (mine.gravity == broken) tell_failure(context.ranks, mine.reason);
    const Finding finding = agreed(mine, context.ranks);
    if (finding.gravity == broken) return settle(finding);  // some rank has verified nothing
    const Verification checked = of_all(own, context.ranks);
    if (!outcome.verification || !checked.passed)
      outcome.verification = checked;
    else
      add_worse(*outcome.verification, checked);
    return settle(finding);
  };

  bool good = step([&]() -> Finding {
    Made<std::unique_ptr<Workload>> made = benchmark.prepare(one, context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) return {no, refusal->reason};
    workload = std::move(std::get<std::unique_ptr<Workload>>(made));
    return {};
  });
  if (!good) return outcome;
  outcome.executed = workload->executed();
  good = verify([&] { return workload->verify_before(); });
  Timing timing;
  if (good)
    good = step([&]() -> Finding {
      timing = measure(*workload, context.ranks, options);
      return {};
    });
  if (good) good = verify([&] { return timing.audits; });
  if (good)
    good = step([&]() -> Finding {
      if (timing.samples.empty()) return {broken, "no iteration was timed"};
      outcome.verification->reference +=
          fmt::format("; {} timed runs checked", timing.audited_runs);
      outcome.timing = std::move(timing);
      return {};
    });
  if (good) good = verify([&] { return workload->verify_after(); });
  if (!good) outcome.timing.reset();
  outcome.executed = workload->executed();
  outcome.work = workload->work();
  outcome.setup = workload->setup();
  return outcome;
}

}  // namespace assay
