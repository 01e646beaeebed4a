#include "core/measure/run_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "core/api/precision.hpp"
#include "core/base/error.hpp"
#include "core/base/name_table.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/health_watch.hpp"
#include "core/measure/rank_failure.hpp"

namespace assay {

namespace {

/// In ascending order: a rank's finding overrides a less severe one of another rank.
enum class Severity { ok, unsupported, target_missed, incorrect, failed };

const std::string& name(Severity severity) {
  static const NameTable<Severity> table(
      {"ok", "unsupported", "target missed", "incorrect", "failed"});
  return table[severity];
}

/// The result of one step on one rank.
struct Finding {
  Severity severity = Severity::ok;
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
    return {Severity::failed, out_of_memory};
  } catch (const UnsupportedCase& refusal) {
    return {Severity::unsupported, refusal.what()};
  } catch (const WrongResult& wrong) {
    return {Severity::incorrect, wrong.what()};
  } catch (const std::exception& error) {
    return {Severity::failed, error.what()};
  }
}

/// The finding of all ranks is the most severe one; the reason names the ranks that have it.
Finding agree_on(const Finding& mine, Communicator& ranks) {
  if (ranks.size() == 1) return mine;
  double worst = static_cast<double>(mine.severity);
  ranks.allreduce_max(std::span(&worst, 1));
  const auto severity = static_cast<Severity>(static_cast<int>(worst));
  if (severity == Severity::ok) return {};
  return {severity, Agreement(mine.severity == severity ? mine.reason : "", ranks).describe()};
}

/// One verification for all ranks. Each rank has checked its own results; the worst counts.
Verification of_all(Verification mine, Communicator& ranks) {
  if (ranks.size() == 1) return mine;
  double worst[] = {mine.max_error, mine.norm_error, mine.error_over_bound,
                    mine.bound,     mine.norm_bound, mine.passed ? 0.0 : 1.0};
  ranks.allreduce_max(worst);
  mine.max_error = worst[0], mine.norm_error = worst[1], mine.error_over_bound = worst[2];
  mine.bound = worst[3], mine.norm_bound = worst[4];
  mine.passed = worst[5] == 0;
  for (std::int64_t* const count : {&mine.checked, &mine.outputs, &mine.wrong_elements}) {
    const std::vector<double> counts = allgather_numbers(static_cast<double>(*count), ranks);
    *count = static_cast<std::int64_t>(std::accumulate(counts.begin(), counts.end(), 0.0));
  }
  mine.reference +=
      fmt::format("; {} of {} on all {} ranks", mine.checked, mine.outputs, ranks.size());
  return mine;
}

/// The row gets the worst of several checks, so that an early success cannot hide a late fault.
void add_worse(Verification& all, const Verification& check) {
  if (check.error_over_bound > all.error_over_bound) {
    all.error_over_bound = check.error_over_bound;
    all.bound = check.bound;
  }
  all.max_error = std::max(all.max_error, check.max_error);
  all.norm_error = std::max(all.norm_error, check.norm_error);
  all.norm_bound = std::max(all.norm_bound, check.norm_bound);
}

/// If the errors of a tf32 row are below this part of their bound, they are errors of fp32. If
/// products are a small summand of the results (alpha far below beta), tf32 errors are small, too,
/// but so is their bound.
constexpr double least_part_of_bound = 0.01;

/// Why the results show that tf32, if there is no evidence but the request, was silently promoted
/// to fp32; "" if they do not. tf32 represents 16-bit inputs exactly, so only fp32 storage can show
/// it.
std::string explain_promotion(const Execution& execution, const Verification& checked) {
  const bool claimed = execution.evidence == "requested" &&
                       execution.compute == name(Precision::tf32) &&
                       execution.storage == name(Precision::fp32);
  // norm_bound is 0 if no data had full significands.
  const double least = std::min(least_error_of_tf32, least_part_of_bound * checked.norm_bound);
  if (!claimed || checked.norm_error >= least) return "";
  return fmt::format(
      "tf32 was requested, but the results have the errors of fp32 (a norm error of {:.2g}; tf32 "
      "makes at least {:.2g}): it was silently promoted. Use fp32.",
      checked.norm_error, least);
}

/// Why errors above the bound of fp32 do not prove a wrong result: according to the backend, the
/// algorithm's arithmetic is undocumented (it may approximate functions), each element is within
/// its own bound, and the norm of the errors is below that of tf32. "" if they prove it.
std::string find_unexplained(const std::optional<Execution>& execution,
                             const Verification& checked) {
  if (!execution || !execution->numbers.contains(undocumented_arithmetic) ||
      execution->compute != name(Precision::fp32) || !checked.wrong() ||
      checked.wrong_elements > 0 || !(checked.norm_error < least_error_of_tf32))
    return "";
  return fmt::format(
      "{}. That is more than fp32 explains and less than tf32 makes (at least {:.2g} of the norm), "
      "and nothing is documented of this algorithm's arithmetic: it cannot be judged. Use another "
      "algorithm.",
      checked.reason, least_error_of_tf32);
}

/// The burn-in of a case. Its findings are kept even if the case fails in it.
Finding burn_in(Workload& workload, Communicator& ranks, double seconds,
                std::optional<Burn>& record) {
  try {
    Result<Burn> burnt = burn(workload, ranks, seconds, &record);
    if (const auto* refusal = std::get_if<Unsupported>(&burnt))
      return {Severity::unsupported, refusal->reason};
    record = std::move(std::get<Burn>(burnt));
  } catch (const std::exception& error) {
    if (!record || !judge(*record).wrong) throw;
    return {Severity::incorrect, judge(*record).reason + "; then " + error.what()};
  }
  const BurnVerdict verdict = judge(*record);
  if (verdict.wrong) return {Severity::incorrect, verdict.reason};
  if (verdict.unsupported) return {Severity::unsupported, verdict.reason};
  return {};
}

/// The steps of a case, each on all ranks. The first that fails sets status and reason of the
/// outcome. Both kinds return true to continue.
class Steps {
 public:
  Steps(Communicator& ranks, Outcome& outcome) : ranks_(ranks), outcome_(outcome) {}

  template <class Body>
  bool run(const Body& body) {
    return settle(agree_on(attempt(body), ranks_));
  }

  /// A step that gives a verification, which is added to that of the outcome.
  template <class Body>
  bool verify(const Body& body) {
    Verification own;
    const Finding mine = attempt([&]() -> Finding {
      own = body();
      if (own.passed) return {};
      if (std::string why = find_unexplained(outcome_.execution, own); !why.empty()) {
        own.undecided = true;
        own.reason = std::move(why);
      }
      if (own.undecided) return {Severity::unsupported, own.reason};
      if (own.target_missed) {
        own.passed = true;  // its results are correct
        return {Severity::target_missed, std::exchange(own.reason, "")};
      }
      return {Severity::incorrect, own.reason.empty() ? "differs from the reference" : own.reason};
    });
    if (mine.severity == Severity::failed) report_rank_failure(ranks_, mine.reason);
    const Finding finding = agree_on(mine, ranks_);
    if (finding.severity == Severity::failed)
      return settle(finding);  // some rank has verified nothing
    const Verification checked = of_all(own, ranks_);
    if (!outcome_.verification || !checked.passed)
      outcome_.verification = checked;
    else
      add_worse(*outcome_.verification, checked);
    return settle(finding);
  }

 private:
  bool settle(const Finding& finding) {
    if (finding.severity == Severity::ok) return true;
    outcome_.status = name(finding.severity);
    outcome_.reason = finding.reason;
    return false;
  }

  Communicator& ranks_;
  Outcome& outcome_;
};

}  // namespace

Outcome run_case(const Prepare& prepare, Communicator& ranks, const TimingOptions& options,
                 const std::map<std::string, double>& amounts) {
  Outcome outcome;
  std::unique_ptr<Workload> workload;
  Steps steps(ranks, outcome);
  bool good = steps.run([&]() -> Finding {
    Result<std::unique_ptr<Workload>> prepared = prepare();
    if (const auto* refusal = std::get_if<Unsupported>(&prepared))
      return {Severity::unsupported, refusal->reason};
    workload = std::move(std::get<std::unique_ptr<Workload>>(prepared));
    return {};
  });
  if (!good) return outcome;
  HealthWatch health(*workload, ranks);
  outcome.execution = workload->execution();
  good = steps.verify([&] { return workload->verify_before(); });
  Timing timing;
  if (good)
    good = steps.run([&]() -> Finding {
      timing = measure(*workload, ranks, options, amounts.empty() ? workload->work() : amounts);
      return {};
    });
  if (good) good = steps.verify([&] { return timing.audits; });
  if (good)
    good = steps.run([&]() -> Finding {
      if (timing.samples.empty()) return {Severity::failed, "no iteration was timed"};
      outcome.verification->reference +=
          fmt::format("; {} timed runs checked", timing.audited_runs);
      outcome.timing = std::move(timing);
      return {};
    });
  if (good && options.burn > 0)
    good = steps.run([&] { return burn_in(*workload, ranks, options.burn, outcome.burn); });
  if (good) good = steps.verify([&] { return workload->verify_after(); });
  if (good)
    good = steps.run([&]() -> Finding {
      std::string why = explain_promotion(workload->execution(), *outcome.verification);
      if (why.empty()) return {};
      return {Severity::unsupported, std::move(why)};
    });
  if (good)
    good = steps.run([&]() -> Finding {
      std::string why = health.end();
      if (!why.empty()) return {Severity::failed, std::move(why)};
      return {};
    });
  if (good) outcome.device_health = health.summarize();
  if (!good) outcome.timing.reset();
  outcome.execution = workload->execution();
  outcome.work = amounts.empty() ? workload->work() : amounts;
  outcome.setup = workload->setup();
  if (good) {
    outcome.metrics = workload->metrics();
    outcome.series = workload->series();
    outcome.layers = workload->layers();
  }
  return outcome;
}

}  // namespace assay
