#include "models/analytics/analytics_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/clock.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

class AnalysisWorkload final : public Workload {
 public:
  AnalysisWorkload(std::unique_ptr<Analysis> analysis, Draws draws, CaseClaims claims,
                   Communicator& ranks, std::map<std::string, double> amounts,
                   double create_seconds)
      : analysis_(std::move(analysis)),
        draws_(std::move(draws)),
        claims_(std::move(claims)),
        ranks_(ranks),
        amounts_(std::move(amounts)) {
    seconds_["create"] = create_seconds;
  }

  Stream& stream() override { return analysis_->device().stream(); }
  Device* device() override { return &analysis_->device(); }
  void reset() override {}
  void run(Stream&) override {
    const double read = analysis_->done().x_bytes;
    analysis_->run();
    // A run may read rows several times; each row counts once here.
    inputs_ += std::min(analysis_->done().x_bytes - read, analysis_->loaded_bytes());
    ran_ = true;
  }
  bool batchable() const override { return true; }

  void begin_audit(Audit kind) override {
    if (kind == Audit::new_inputs)
      load(next_draw_++);  // outputs keep what the last run left in them
    else
      analysis_->poison();
  }

  Verification end_audit() override {
    const Verification checked = check("among the timed runs");
    if (draw_ != 0) load(0);  // every sample is of the same data
    return checked;
  }

  /// Verifies two tables in a row, because anything kept from the first is wrong for the second.
  Verification verify_before() override {
    load(next_draw_++);
    const Verification other = verify_run("before timing");
    if (!other.passed) return other;
    load(0);
    return verify_run("before timing");
  }

  Verification verify_after() override {
    if (ran_) {
      const Verification last = check("of the last timed run");
      if (!last.passed) return last;
    }
    load(next_draw_++);
    const Verification other = verify_run("after timing");
    if (!other.passed) return other;
    load(0);  // metrics are those of the timed data
    Verification timed = verify_run("after timing");
    timed.fail(fault_of_metrics());
    return timed;
  }

  Execution execution() const override { return analysis_->execution(); }
  std::map<std::string, double> work() const override { return amounts_; }
  std::map<std::string, double> take_done() override {
    const StepWork done = analysis_->done();
    double sums[] = {done.flops - taken_.flops, done.x_bytes - taken_.x_bytes,
                     std::exchange(inputs_, 0)};
    taken_ = done;
    ranks_.sum(sums);
    return {{"flops_per_s", sums[0]},
            {"bytes_per_s", sums[1]},
            {"input_bytes_per_s", sums[2]},
            {"figure_of_merit", sums[2]}};
  }
  std::map<std::string, Metric> metrics() const override { return analysis_->metrics(); }
  std::map<std::string, double> setup() const override { return seconds_; }

 private:
  /// Why a metric differs from the value that the verification computed, or empty.
  std::string fault_of_metrics() const {
    const std::map<std::string, Metric> metrics = analysis_->metrics();
    for (const auto& [name, expected] : analysis_->expected_metrics()) {
      const auto metric = metrics.find(name);
      if (metric == metrics.end()) return fmt::format("the metric {} is missing", name);
      if (metric->second.value != expected.value &&
          !(std::abs(metric->second.value - expected.value) <= expected.max_bound))
        return fmt::format("the metric {} is {} (expected {} within {:.3g})", name,
                           metric->second.value, expected.value, expected.max_bound);
    }
    return "";
  }

  void load(int draw) {
    const auto start = std::chrono::steady_clock::now();
    if (table_ == nullptr || draw != draw_) table_ = draws_(draw);
    draw_ = draw;
    ran_ = false;
    analysis_->load(*table_);
    seconds_.try_emplace("fill", seconds_since(start));
  }

  Verification verify_run(const std::string& when) {
    analysis_->poison();
    run(stream());
    stream().wait();
    return check(when);
  }

  Verification check(const std::string& when) {
    Verification checked = analysis_->verify(*table_, claims_);
    if (!checked.passed) checked.reason += fmt::format(" ({}, table {})", when, draw_);
    return checked;
  }

  std::unique_ptr<Analysis> analysis_;
  Draws draws_;
  const CaseClaims claims_;
  RankCalls ranks_;
  std::map<std::string, double> amounts_, seconds_;
  std::unique_ptr<DataTable> table_;
  StepWork taken_;     ///< work that take_done() has reported
  double inputs_ = 0;  ///< bytes of the rows of each run since then
  int draw_ = 0, next_draw_ = 1;
  bool ran_ = false;  ///< on the loaded table
};

}  // namespace

RowRange share_rows(std::int64_t rows, int rank, int ranks) {
  const std::int64_t each = rows / ranks, left = rows % ranks;
  return {rank * each + std::min<std::int64_t>(rank, left), each + (rank < left ? 1 : 0)};
}

TableClaims::TableClaims(const Settings& settings)
    : type(settings.at("precision") == "fp32" ? DataType::fp32 : DataType::fp64) {
  const std::string& size = settings.at("problem");  // "n262144d250"
  const std::size_t d = size.find('d');
  rows = std::stoll(size.substr(1, d - 1));
  features = std::stoll(size.substr(d + 1));
}

std::unique_ptr<Workload> make_analytics_workload(std::unique_ptr<Analysis> analysis, Draws draws,
                                                  CaseClaims claims, Communicator& ranks,
                                                  std::map<std::string, double> amounts,
                                                  double create_seconds) {
  return std::make_unique<AnalysisWorkload>(std::move(analysis), std::move(draws),
                                            std::move(claims), ranks, std::move(amounts),
                                            create_seconds);
}

}  // namespace assay
