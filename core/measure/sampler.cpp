#include "core/measure/sampler.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"

namespace assay {
namespace {

/// Marks before and after the sample's own marks 0 and 1.
constexpr int before_all = 14, behind_all = 15;

std::string describe_failure(const std::exception_ptr& failure) {
  if (!failure) return "";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return std::string("!") + error.what();  // the mark tells an empty text from no failure
  } catch (...) {
    return "!unknown exception";
  }
}

}  // namespace

Sampler::Sampler(Workload& workload, Communicator& ranks)
    : workload_(workload),
      ranks_(ranks),
      stream_(workload.stream()),
      host_(dynamic_cast<const HostStream*>(&stream_) != nullptr),
      apart_(Hold(stream_).holds()) {}

bool Sampler::others_agree(bool late) noexcept {
  // A run that a queue cannot take may fit into it as one recording. Runs of several ranks are not
  // recorded: a recording runs once, and a run may wait for another rank, which records nothing.
  try {
    if (ranks_.size() == 1 && early_.in_vain() && !failure_ && std::exchange(records_, false) &&
        workload_.record())
      early_ = EarlyBegins();
  } catch (...) {
    failure_ = std::current_exception();
  }
  const bool in_vain = early_.in_vain();
  if (ranks_.size() == 1) {
    over_ |= late;
    in_vain_ |= in_vain;
    return !failure_;
  }
  if (stopped_ || lost_) return false;
  try {
    double states[] = {failure_ ? 1.0 : 0.0, late ? 1.0 : 0.0, in_vain ? 1.0 : 0.0};
    ranks_.allreduce_max(states);
    stopped_ = states[0] > 0;
    over_ |= states[1] > 0;
    in_vain_ |= states[2] > 0;
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    lost_ = true;
  }
  return !stopped_ && !lost_;
}

void Sampler::begin_together() {
  if (ranks_.size() > 1) ranks_.barrier();
  if (energy_ != nullptr) energy_->begin();
}

double Sampler::once() noexcept {
  if (stopped_ || lost_ || over_) return 0;
  try {
    if (!failure_) {
      workload_.reset();
      stream_.wait();  // work that reset() has started is no part of the sample
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  const bool late = deadline_ && std::chrono::steady_clock::now() > *deadline_;
  if (!others_agree(late) || over_) return 0;
  try {
    begin_together();
    if (prelude_) prelude_();
    if (host_) stream_.mark(before_all);
    const double first = raw_seconds();
    Hold hold(stream_, holds());
    std::exception_ptr failed;
    try {
      stream_.mark(0);
      for (int i = 0; i < batch_; ++i, ++runs_) workload_.run(stream_);
      stream_.mark(1);
    } catch (...) {
      failed = std::current_exception();
    }
    // The devices begin together. A rank that has failed also enters the barrier.
    if (hold.holds()) begin_together();
    early_.release(hold);
    if (failed) std::rethrow_exception(failed);
    stream_.wait();
    passed_s_ = raw_seconds() - first;
    if (host_) stream_.mark(behind_all);
    const double seconds = stream_.seconds(0, 1);
    between_s_ = host_ ? stream_.seconds(before_all, behind_all) - seconds : 0;
    if (energy_ != nullptr) energy_->end(batch_, seconds);
    return seconds / batch_;
  } catch (...) {
    failure_ = std::current_exception();
    report_rank_failure(ranks_, describe_failure(failure_).substr(1));
    return 0;
  }
}

double Sampler::extra_run() noexcept {
  const int batch = std::exchange(batch_, 1);
  const bool over = std::exchange(over_, false);
  const auto deadline = std::exchange(deadline_, std::nullopt);
  const double seconds = once();
  batch_ = batch;
  over_ = over;
  deadline_ = deadline;
  return seconds;
}

double Sampler::audit(Audit kind, Verification& verification) noexcept {
  const auto start = std::chrono::steady_clock::now();
  const auto guarded = [&](const auto& step) {
    try {
      if (!failure_ && !stopped_ && !lost_) step();
    } catch (...) {
      failure_ = std::current_exception();
    }
  };
  guarded([&] { workload_.begin_audit(kind); });
  const double seconds = extra_run();
  // A rank whose run failed makes no checks; without agreement, the checks of other ranks might
  // wait for it.
  others_agree(false);
  guarded([&] { verification = workload_.end_audit(); });
  if (deadline_) *deadline_ += std::chrono::steady_clock::now() - start;
  return seconds;
}

double Sampler::clock() noexcept {
  constexpr std::size_t pairs = 31;
  if (stopped_ || lost_ || failure_) return 0;
  try {
    std::vector<double> costs;
    while (costs.size() < pairs) {
      {
        const Hold hold(stream_, holds());
        stream_.mark(0);
        stream_.mark(1);
      }
      stream_.wait();
      costs.push_back(stream_.seconds(0, 1));
    }
    return median(costs);
  } catch (...) {
    failure_ = std::current_exception();
    return 0;
  }
}

void Sampler::settle() {
  if (others_agree(false)) return;
  if (lost_ || ranks_.size() == 1) std::rethrow_exception(failure_);
  const Agreement failures(describe_failure(failure_), ranks_);
  if (failure_) std::rethrow_exception(failure_);
  if (failures.none())
    throw CaseError("a rank failed (it gave no reason). This rank stopped with it.");
  throw CaseError("rank " + std::to_string(failures.rank()) + " failed (" +
                  failures.text().substr(1) + "). This rank stopped with it.");
}

}  // namespace assay
