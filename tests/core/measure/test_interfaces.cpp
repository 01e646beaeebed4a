// Do the interfaces carry more than a single operation of one rank? A collective, verified over all
// ranks' data, and a training run of many steps go through the same measure() and the same checks
// as a convolution.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "core/measure/workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_interfaces {

using testing_fakes::on_threads;

// ---- a collective as an Operation

class AllreduceProblem final : public Problem {
 public:
  static constexpr const char* kind_name = "allreduce";
  AllreduceProblem(std::int64_t count, int ranks) : count_(count), ranks_(ranks) {}
  std::string kind() const override { return kind_name; }
  std::string canonical() const override { return "n" + std::to_string(count_); }
  nlohmann::json json() const override { return {{"count", count_}}; }
  double flops() const override { return 0; }
  double bytes() const override {
    return 2.0 * (ranks_ - 1) / ranks_ * 4 * static_cast<double>(count_);
  }  // bus bytes

 private:
  std::int64_t count_;
  int ranks_;
};

/// The sum over the ranks: a rank's data is a function of the rank, so no reference needs
/// communication.
class AllreduceOracle final : public Oracle {
 public:
  AllreduceOracle(int ranks, std::string input) : ranks_(ranks), input_(std::move(input)) {}
  int exact_magnitude(const Execution&) const override { return 100; }
  int full_magnitude(const TensorSpec&) const override { return 100; }
  std::vector<std::int64_t> sample(const TensorSpec& output, double, std::uint64_t) const override {
    std::vector<std::int64_t> all(static_cast<std::size_t>(output.elements()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return all;
  }
  void expect(const TensorSpec&, const Inputs& inputs, const Execution&, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    for (std::size_t n = 0; n < indices.size(); ++n) {
      double size = 0;
      for (int rank = 0; rank < ranks_; ++rank) {
        const double value = inputs.at(input_).of_rank(rank)(indices[n]);
        expected[n].value += value;
        size += std::abs(value);
      }
      if (exact) continue;
      expected[n].max_bound = expected[n].rms_bound = ranks_ * 0x1p-24 * size;
    }
  }
  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    std::vector<double> factors(static_cast<std::size_t>(output.elements()));
    weights.fill(0, factors);
    double sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Values values = inputs.at(input_).of_rank(rank);
      for (std::size_t i = 0; i < factors.size(); ++i)
        sum += factors[i] * values(static_cast<std::int64_t>(i));
    }
    return sum;
  }

 private:
  int ranks_;
  std::string input_;
};

class AllreduceOperation final : public Operation {
 public:
  AllreduceOperation(Communicator& ranks, std::int64_t count, bool in_place,
                     std::function<void(int)> after)
      : ranks_(ranks), in_place_(in_place), after_(std::move(after)) {
    TensorSpec spec;
    spec.dims = {count};
    spec.bytes = static_cast<std::size_t>(count) * 4;
    if (in_place) {
      spec.name = "buffer";
      spec.role = Role::inout;
      specs_ = {spec};
    } else {
      spec.name = "send";
      specs_ = {spec};
      spec.name = "receive";
      spec.role = Role::output;
      specs_.push_back(spec);
    }
  }
  const std::vector<TensorSpec>& arguments() const override { return specs_; }
  void bind(std::span<Tensor* const> tensors) override {
    send_ = {tensors[0]->data(), specs_[0].elements(), DataType::fp32};
    receive_ = {tensors[in_place_ ? 0 : 1]->data(), specs_[0].elements(), DataType::fp32};
  }
  void run(Stream& stream) override {
    ranks_.allreduce(send_, receive_, ReduceOp::sum, stream);
    after_(runs_++);
  }
  Execution execution() const override { return {}; }

 private:
  Communicator& ranks_;
  bool in_place_;
  std::function<void(int)> after_;
  std::vector<TensorSpec> specs_;
  Buffer send_, receive_;
  int runs_ = 0;
};

std::unique_ptr<Workload> allreduce_workload(
    Communicator& ranks, HostDevice& device, bool in_place,
    std::function<void(int)> after = [](int) {}) {
  OperationSetup setup;
  setup.rank = ranks.rank();
  const std::int64_t count = 3001;
  return make_operation_workload(
      AllreduceProblem(count, ranks.size()),
      std::make_unique<AllreduceOperation>(ranks, count, in_place, std::move(after)), device,
      std::make_unique<AllreduceOracle>(ranks.size(), in_place ? "buffer" : "send"), 0, setup);
}

TEST(Interfaces, AnAllreduceIsAnOperationLikeAnyOther) {
  for (const int size : {2, 4}) {
    for (const bool in_place : {false, true}) {
      std::mutex mutex;
      std::vector<Timing> timings;
      on_threads(size, [&](Communicator& ranks) {
        HostDevice device;
        const auto workload = allreduce_workload(ranks, device, in_place);
        const Verification before = workload->verify_before();
        EXPECT_TRUE(before.passed) << before.reason;
        EXPECT_TRUE(before.exact);
        TimingOptions options;
        options.max_samples = 25;
        const Timing timing = measure(*workload, ranks, options);
        const Verification after = workload->verify_after();
        EXPECT_TRUE(after.passed) << after.reason;
        EXPECT_EQ(workload->work().count("flops_per_s"), 0u) << "nothing to count";
        EXPECT_GT(workload->work().at("bytes_per_s"), 0);
        const std::lock_guard lock(mutex);
        timings.push_back(timing);
      });
      for (const Timing& timing : timings) {
        EXPECT_EQ(timing.samples, timings[0].samples)
            << "every rank has the slowest rank's samples";
        EXPECT_GE(timing.samples.size(), 10u);
        EXPECT_EQ(timing.slowest_rank, timings[0].slowest_rank);
      }
    }
  }
}

TEST(Interfaces, AFaultOnOneRankLeavesTheRanksInStep) {
  // Rank 1 alone finds its result wrong; the others pass, and no rank waits for another's next
  // call.
  std::atomic<int> failed = 0;
  on_threads(3, [&](Communicator& ranks) {
    HostDevice device;
    class Corrupting final : public Operation {
     public:
      Corrupting(std::unique_ptr<Operation> real, bool corrupt)
          : real_(std::move(real)), corrupt_(corrupt) {}
      const std::vector<TensorSpec>& arguments() const override { return real_->arguments(); }
      void bind(std::span<Tensor* const> tensors) override {
        out_ = static_cast<float*>(tensors[1]->data());
        real_->bind(tensors);
      }
      void run(Stream& stream) override {
        real_->run(stream);
        if (corrupt_) out_[3000] += 1;
      }
      Execution execution() const override { return {}; }

     private:
      std::unique_ptr<Operation> real_;
      bool corrupt_;
      float* out_ = nullptr;
    };
    OperationSetup setup;
    setup.rank = ranks.rank();
    const auto workload = make_operation_workload(
        AllreduceProblem(3001, 3),
        std::make_unique<Corrupting>(
            std::make_unique<AllreduceOperation>(ranks, 3001, false, [](int) {}),
            ranks.rank() == 1),
        device, std::make_unique<AllreduceOracle>(3, "send"), 0, setup);
    const Verification before = workload->verify_before();
    EXPECT_EQ(before.passed, ranks.rank() != 1);
    if (!before.passed) {
      ++failed;
      EXPECT_NE(before.reason.find("receive[3000]"), std::string::npos) << before.reason;
    }
    const double agreed = ranks.broadcast(5);  // still in step
    EXPECT_EQ(agreed, 5);
  });
  EXPECT_EQ(failed, 1);
}

TEST(Interfaces, ACollectiveThatThrowsOnOneRankEndsTheCaseOnAll) {
  std::atomic<int> thrown = 0;
  on_threads(4, [&](Communicator& ranks) {
    HostDevice device;
    const auto workload = allreduce_workload(ranks, device, false, [&](int run) {
      if (ranks.rank() == 3 && run == 20) throw CaseError("link down");
    });
    EXPECT_TRUE(workload->verify_before().passed);
    try {
      measure(*workload, ranks, {});
    } catch (const CaseError& error) {
      EXPECT_NE(std::string(error.what()).find("link down"), std::string::npos);
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 4);
}

// ---- many steps in one run: gradient descent on a linear regression, data parallel over any
// communicator

constexpr std::int64_t rows = 64, width = 6;
constexpr int steps = 20;
constexpr float rate = 0.05f;

class Regression final : public Workload {
 public:
  explicit Regression(Communicator& ranks, float sabotage = 1)
      : ranks_(ranks),
        sabotage_(sabotage),
        x_(Values::Kind::mantissa, 1, "x", DataType::fp32, 0),
        y_(Values::Kind::mantissa, 1, "y", DataType::fp32, 0),
        data_(rows * width),
        target_(rows),
        gradient_(width),
        weights_(width) {
    for (std::int64_t i = 0; i < rows * width; ++i)
      data_[static_cast<std::size_t>(i)] = static_cast<float>(x_.of_rank(ranks.rank())(i));
    for (std::int64_t i = 0; i < rows; ++i)
      target_[static_cast<std::size_t>(i)] = static_cast<float>(y_.of_rank(ranks.rank())(i));
  }
  Stream& stream() override { return device_.stream(); }
  void reset() override {
    std::fill(weights_.begin(), weights_.end(), 0.0f);
  }  // each run trains anew
  void run(Stream& stream) override {
    for (int step = 0; step < steps; ++step) {
      std::fill(gradient_.begin(), gradient_.end(), 0.0f);
      for (std::size_t i = 0; i < rows; ++i) {
        float error = -target_[i];
        for (std::size_t j = 0; j < width; ++j) error += data_[i * width + j] * weights_[j];
        for (std::size_t j = 0; j < width; ++j)
          gradient_[j] += error * data_[i * width + j] / static_cast<float>(rows);
      }
      const Buffer buffer{gradient_.data(), width, DataType::fp32};
      ranks_.allreduce(buffer, buffer, ReduceOp::average, stream);
      for (std::size_t j = 0; j < width; ++j) weights_[j] -= sabotage_ * rate * gradient_[j];
    }
  }
  bool batchable() const override { return false; }
  void begin_audit(Audit) override {}
  Verification end_audit() override { return compare(); }
  Verification verify_before() override {
    reset();
    run(stream());
    return compare();
  }
  Verification verify_after() override {
    const Verification last = compare();
    return last.passed ? verify_before() : last;
  }
  Execution execution() const override { return {}; }
  std::map<std::string, double> work() const override {
    return {{"samples_per_s", static_cast<double>(rows * steps * ranks_.size())}};
  }
  std::map<std::string, double> setup() const override { return {}; }

 private:
  /// The same steps over all ranks' data in fp64. Steps contract (the rate is far below 2 /
  /// lambda_max), so the error of the weights is at most what one step adds, steps times: u times
  /// the length of the sums times their size (each below 1).
  Verification compare() const {
    std::vector<double> weights(width);
    for (int step = 0; step < steps; ++step) {
      std::vector<double> gradient(width);
      for (int rank = 0; rank < ranks_.size(); ++rank) {
        const Values x = x_.of_rank(rank), y = y_.of_rank(rank);
        for (std::int64_t i = 0; i < rows; ++i) {
          double error = -y(i);
          for (std::int64_t j = 0; j < width; ++j)
            error += x(i * width + j) * weights[static_cast<std::size_t>(j)];
          for (std::int64_t j = 0; j < width; ++j)
            gradient[static_cast<std::size_t>(j)] +=
                error * x(i * width + j) / static_cast<double>(rows * ranks_.size());
        }
      }
      for (std::size_t j = 0; j < width; ++j) weights[j] -= static_cast<double>(rate) * gradient[j];
    }
    Verification result;
    result.reference = "fp64 training";
    result.bound = steps * static_cast<double>(rate) * 0x1p-24 * (rows + width + 4) * 2;
    for (std::size_t j = 0; j < width; ++j)
      result.max_error = std::max(result.max_error, std::abs(weights_[j] - weights[j]));
    result.passed = result.max_error <= result.bound;
    result.checked = result.outputs = width;
    if (!result.passed) result.reason = "weights differ from the fp64 training";
    return result;
  }

  Communicator& ranks_;
  float sabotage_;
  HostDevice device_;
  Values x_, y_;
  std::vector<float> data_, target_, gradient_, weights_;
};

TEST(Interfaces, ManyStepsAreOneRun) {
  const auto serial = make_serial_communicator();
  Regression workload(*serial);
  const Verification before = workload.verify_before();
  EXPECT_TRUE(before.passed) << before.max_error << " > " << before.bound;
  EXPECT_GT(before.max_error, 0);
  TimingOptions options;
  options.max_samples = 50;
  EXPECT_GE(measure(workload, *serial, options).samples.size(), 10u);
  EXPECT_TRUE(workload.verify_after().passed);

  Regression wrong(*serial, 1.001f);  // a learning rate that is a thousandth off
  EXPECT_FALSE(wrong.verify_before().passed);
}

TEST(Interfaces, ManyStepsOverManyRanks) {
  on_threads(3, [](Communicator& ranks) {
    Regression workload(ranks);
    EXPECT_TRUE(workload.verify_before().passed);
    TimingOptions options;
    options.max_samples = 20;
    EXPECT_GE(measure(workload, ranks, options).samples.size(), 10u);
    EXPECT_TRUE(workload.verify_after().passed);
  });
}

}  // namespace test_interfaces
}  // namespace assay
