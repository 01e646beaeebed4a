#include "models/input/staged_workload.hpp"

#include <utility>

#include "core/measure/rank_failure.hpp"

namespace assay {
namespace {

class StagedWorkload final : public Workload {
 public:
  StagedWorkload(std::unique_ptr<Workload> inner, StagedSet staged, Communicator& ranks)
      : inner_(std::move(inner)), staged_(std::move(staged)), ranks_(ranks) {}

  Verification verify_before() override {
    Verification checked = inner_->verify_before();
    checked.fail(find_fault_of_staging(staged_.cost));
    return checked;
  }
  Verification verify_after() override {
    Verification checked = inner_->verify_after();
    std::string fault;
    throw_on_all(ranks_, [&] {
      if (staged_.kept != nullptr) fault = staged_.kept->fault();
    });
    checked.fail(find_fault_of_any(fault, ranks_));
    return checked;
  }
  std::map<std::string, Metric> metrics() const override {
    std::map<std::string, Metric> metrics = inner_->metrics();
    metrics.merge(staging_metrics(staged_.cost));
    return metrics;
  }

  Stream& stream() override { return inner_->stream(); }
  Device* device() override { return inner_->device(); }
  void reset() override { inner_->reset(); }
  void run(Stream& stream) override { inner_->run(stream); }
  bool batchable() const override { return inner_->batchable(); }
  int samples() const override { return inner_->samples(); }
  void begin_audit(Audit kind) override { inner_->begin_audit(kind); }
  Verification end_audit() override { return inner_->end_audit(); }
  Execution execution() const override { return inner_->execution(); }
  std::map<std::string, double> work() const override { return inner_->work(); }
  std::map<std::string, double> take_done() override { return inner_->take_done(); }
  std::vector<Epoch> series() const override { return inner_->series(); }
  std::vector<LayerTime> layers() const override { return inner_->layers(); }
  std::map<std::string, double> setup() const override { return inner_->setup(); }

 private:
  std::unique_ptr<Workload> inner_;
  StagedSet staged_;
  Communicator& ranks_;
};

}  // namespace

std::unique_ptr<Workload> make_staged_workload(std::unique_ptr<Workload> inner, StagedSet staged,
                                               Communicator& ranks) {
  return std::make_unique<StagedWorkload>(std::move(inner), std::move(staged), ranks);
}

}  // namespace assay
