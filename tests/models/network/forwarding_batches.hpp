#pragma once
// Batches of another object, for tests that change one call.

#include <memory>
#include <string>
#include <utility>

#include "models/network/batches.hpp"

namespace assay::network_test {

class ForwardingBatches : public Batches {
 public:
  explicit ForwardingBatches(std::unique_ptr<Batches> under) : under_(std::move(under)) {}
  const Batch& next() override { return under_->next(); }
  PipelineState state() const override { return under_->state(); }
  void start(const PipelineState& from, std::int64_t batches) override {
    under_->start(from, batches);
  }
  std::int64_t steps() const override { return under_->steps(); }
  std::int64_t samples() const override { return under_->samples(); }
  std::int64_t classes() const override { return under_->classes(); }
  PipelineCounters counters() const override { return under_->counters(); }
  std::string canonical() const override { return under_->canonical(); }

 private:
  std::unique_ptr<Batches> under_;
};

}  // namespace assay::network_test
