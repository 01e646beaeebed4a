#include "core/sampler.hpp"

#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/lone_failure.hpp"
#include "core/statistics.hpp"

namespace assay {
namespace {

std::string text_of(const std::exception_ptr& failure) {
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

bool Sampler::others_agree() noexcept {
  if (ranks_.size() == 1) return !failure_;
  if (stopped_ || lost_) return false;
  try {
    double failed = failure_ ? 1 : 0;
    ranks_.maximum(std::span(&failed, 1));
    stopped_ = failed > 0;
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    lost_ = true;
  }
  return !stopped_ && !lost_;
}

double Sampler::once() noexcept {
  if (stopped_ || lost_) return 0;
  try {
    if (!failure_) {
      workload_.reset();
      stream_.wait();  // what reset() has started on a device is no part of the sample
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (!others_agree()) return 0;
  try {
    if (ranks_.size() > 1) ranks_.barrier();
    stream_.mark(0);
    for (int i = 0; i < batch_; ++i) workload_.run(stream_);
    stream_.mark(1);
    stream_.wait();
    return stream_.seconds(0, 1) / batch_;
  } catch (...) {
    failure_ = std::current_exception();
    tell_failure(ranks_, text_of(failure_).substr(1));
    return 0;
  }
}

double Sampler::clock() noexcept {
  constexpr std::size_t pairs = 31;
  if (stopped_ || lost_ || failure_) return 0;
  try {
    std::vector<double> costs;
    while (costs.size() < pairs) {
      stream_.mark(0);
      stream_.mark(1);
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
  if (others_agree()) return;
  if (lost_ || ranks_.size() == 1) std::rethrow_exception(failure_);
  const std::vector<std::string> texts = ranks_.gather(text_of(failure_));
  if (failure_) std::rethrow_exception(failure_);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (!texts[rank].empty()) {
      throw CaseError("rank " + std::to_string(rank) + " failed (" + texts[rank].substr(1) +
                      "). This rank stopped with it.");
    }
  }
  throw CaseError("a rank failed (it gave no reason). This rank stopped with it.");
}

}  // namespace assay
