#include "core/measure/sample_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/measure/agreement.hpp"

namespace assay {
namespace {

/// A wrong clock or a wrong divisor changes all samples, so a tenth of them may differ for
/// unforeseen reasons.
constexpr double part_that_may_differ = 0.1;
constexpr double relative_tolerance = 0.02, clock_tolerance_s = 5e-6;
/// Amounts are sums and products of whole numbers, so a larger difference is other work.
constexpr double rounding = 1e-9;

/// Most seconds that an interruption excuses: it lasts a few ticks of the scheduler.
constexpr double interruption_s = 0.05;

/// Seconds to read both clocks: the least of several readings, since the thread may be interrupted.
double cost_of_reading() {
  double least = 1;
  HostStream stream;
  for (int i = 0; i < 32; ++i) {
    const double start = raw_seconds();
    stream.mark(0);
    least = std::min(least, raw_seconds() - start);
  }
  return least;
}

}  // namespace

double compute_accountable_seconds(double claimed_s, double passed_s, double between_s) {
  return std::max(std::min(claimed_s, passed_s), passed_s - std::max(between_s, 0.0));
}

SampleCheck::SampleCheck(Workload& workload, Sampler& sampler, Communicator& ranks,
                         const std::map<std::string, double>& amounts)
    : workload_(workload),
      sampler_(sampler),
      ranks_(ranks),
      amounts_(amounts),
      reading_s_(cost_of_reading()) {}

void SampleCheck::begin() {
  workload_.take_done();
  runs_before_ = sampler_.runs();
  in_group_ = 0;
}

double SampleCheck::once(int batch) {
  const double seconds = sampler_.once();
  if (sampler_.over()) return seconds;
  const double claimed = seconds * batch;
  ++samples_;
  ++in_group_;
  all_.push_back(seconds);
  const double passed =
      compute_accountable_seconds(claimed, sampler_.passed_s(), sampler_.between_s());
  claimed_ += claimed;
  passed_ += passed;
  // A few readings of clocks lie between the readings of the two.
  const double tolerance = relative_tolerance * passed + clock_tolerance_s + 4 * reading_s_;
  shorter_ += claimed < passed - tolerance ? 1 : 0;
  longer_ += claimed > passed + tolerance ? 1 : 0;
  return seconds;
}

std::string SampleCheck::why_not_time() const {
  const bool excused =
      shorter_ + longer_ <= 1 + part_that_may_differ * samples_ &&
      std::abs(claimed_ - passed_) <= relative_tolerance * passed_ + interruption_s * samples_;
  if (!sampler_.host() || excused) return "";
  return fmt::format(
      "impossible: {} of {} samples are {} than the time that passed meanwhile ({:.4g} s by the "
      "samples, {:.4g} s by another clock). Repeat it; if it fails again, report it.",
      shorter_ + longer_, samples_, shorter_ > longer_ ? "shorter" : "longer", claimed_, passed_);
}

std::string SampleCheck::why_not_work(double runs) {
  const std::map<std::string, double> all = workload_.take_done();  // collective: first of all
  if (const auto counted = static_cast<double>(sampler_.runs() - runs_before_); counted != runs)
    return fmt::format("the samples are those of {:.0f} runs, but {:.0f} were made", runs, counted);
  for (const auto& [name, done] : all) {
    const auto amount = amounts_.find(name);
    if (name == "runs" && done != runs)
      return fmt::format(
          "the samples are those of {:.0f} runs, but the operation has run {:.0f} "
          "times",
          runs, done);
    // 0: each run decides the amount itself.
    if (runs == 0 || amount == amounts_.end() || amount->second == 0) continue;
    const double each = done / runs;
    if (std::abs(each - amount->second) <= rounding * amount->second) continue;
    return fmt::format(
        "the timed runs have done other work than the case names (for {}: {:.10g} in each run, not "
        "{:.10g})",
        name, each, amount->second);
  }
  return "";
}

void SampleCheck::end(int batch) {
  const std::string time = why_not_time(),
                    work = why_not_work(static_cast<double>(in_group_) * batch);
  double wrong[] = {work.empty() ? 0.0 : 1.0, time.empty() ? 0.0 : 1.0};
  ranks_.allreduce_max(wrong);
  // Every rank throws the finding of the first rank that has one.
  if (wrong[0] > 0) throw WrongResult(Agreement(work, ranks_).describe());
  if (wrong[1] > 0) throw CaseError(Agreement(time, ranks_).describe());
}

void SampleCheck::expect_samples(const std::vector<double>& samples) const {
  std::vector<double> slowest = all_;
  ranks_.allreduce_max(slowest);
  double differ = samples == slowest ? 0 : 1;
  ranks_.allreduce_max(std::span(&differ, 1));
  if (differ > 0)
    throw CaseError(
        fmt::format("impossible: the {} samples of the row are not the {} that were taken, of the "
                    "slowest rank. Report it.",
                    samples.size(), slowest.size()));
}

}  // namespace assay
