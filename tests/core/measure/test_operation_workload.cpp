#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/error.hpp"
#include "tests/core/product_operation.hpp"

namespace assay {
namespace test_operation_workload {

using namespace testing_fakes;

TEST(OperationWorkload, PassesWhatIsRightInEveryTypeAndMode) {
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::s32}) {
    for (const bool in_place : {false, true}) {
      for (const bool is_cold : {false, true}) {
        Shape shape;
        shape.type = type;
        shape.in_place = in_place && type != DataType::s32;
        PreparedProduct p(shape, is_cold ? cold() : OperationSetup{});
        const Verification before = p.workload->verify_before();
        EXPECT_TRUE(before.passed) << name(type) << in_place << is_cold << before.reason;
        EXPECT_TRUE(before.exact);
        EXPECT_EQ(before.checked, 300);
        EXPECT_EQ(before.outputs, 300);
        EXPECT_LE(before.error_over_bound, 1);
        EXPECT_LE(before.norm_error, before.norm_bound);
        if (!is_integer(type)) {
          EXPECT_GT(before.max_error, 0) << "full significands are not exact";
        }
        p.time(7);
        const Verification after = p.workload->verify_after();
        EXPECT_TRUE(after.passed) << name(type) << in_place << is_cold << after.reason;
        EXPECT_EQ(p.workload->batchable(), !is_cold && !shape.in_place);
      }
    }
  }
}

TEST(OperationWorkload, RandomShapesPass) {
  const Values draw(Values::Kind::integer, 17, "shapes", DataType::s32, 1000);
  for (int i = 0; i < 40; ++i) {
    Shape shape;
    shape.rows = 3 * (1 + static_cast<std::int64_t>(std::abs(draw(2 * i))));
    shape.length = 1 + static_cast<std::int64_t>(std::abs(draw(2 * i + 1))) % 60;
    OperationSetup setup;
    setup.seed = static_cast<std::uint64_t>(i);
    setup.reference_budget = 5000;
    PreparedProduct p(shape, setup);
    const Verification before = p.workload->verify_before();
    EXPECT_TRUE(before.passed) << shape.rows << "x" << shape.length << " " << before.reason;
    p.time(2);
    EXPECT_TRUE(p.workload->verify_after().passed);
  }
}

TEST(OperationWorkload, SaysWhatItCheckedAgainst) {
  PreparedProduct p(Shape{});
  EXPECT_EQ(p.workload->verify_before().reference,
            "fp64, 300 of 300 outputs, integer inputs exact with checksum of all outputs");
  PreparedProduct winograd(Shape{}, {}, {}, 0);
  const Verification v = winograd.workload->verify_before();
  EXPECT_TRUE(v.passed);
  EXPECT_FALSE(v.exact);
  EXPECT_EQ(v.reference, "fp64, 300 of 300 outputs");
}

// ---- injected faults: runs 0 and 1 have integers, 2 and 3 full significands, 4 … are timed, then
// integers again.

TEST(OperationWorkload, AWrongElementBeforeTimingIsNamed) {
  PreparedProduct p(Shape{}, {}, [](int run, float* y) {
    if (run == 2) y[7] += 0.5f;
  });
  const Verification v = p.workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("y[2,1] is "), std::string::npos) << v.reason;
  EXPECT_NE(v.reason.find("1 of 300"), std::string::npos) << v.reason;
  EXPECT_NE(v.reason.find("full-significand inputs, before timing"), std::string::npos) << v.reason;
  EXPECT_GT(v.error_over_bound, 1);
}

/// Computes until it is told not to.
class Stopping final : public Operation {
 public:
  explicit Stopping(Shape shape) : real_(shape) {}
  const std::vector<TensorSpec>& arguments() const override { return real_.arguments(); }
  void bind(std::span<Tensor* const> tensors) override { real_.bind(tensors); }
  void run(Stream& stream) override {
    if (!idle) real_.run(stream);
  }
  Execution execution() const override { return {}; }
  bool idle = false;

 private:
  ProductOperation real_;
};

TEST(OperationWorkload, AWrongElementOutsideTheSampleChangesTheChecksum) {
  Shape shape;
  OperationSetup setup;
  setup.reference_budget = 400;  // every 30th element
  PreparedProduct p(shape, setup, [](int run, float* y) {
    if (run == 1) y[31] += 1;
  });
  const Verification v = p.workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("the weighted sum of all 300 elements"), std::string::npos) << v.reason;
  EXPECT_LT(v.checked, 300);
}

TEST(OperationWorkload, PermutedOutputsOutsideTheSampleChangeTheChecksum) {
  int caught = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    OperationSetup setup;
    setup.reference_budget = 400;
    setup.seed = seed;
    // The operation has no exact pass, like Winograd.
    PreparedProduct p(
        Shape{}, setup, [](int, float* y) { std::swap(y[31], y[44]); }, 0);
    const Verification v = p.workload->verify_before();
    caught += v.wrong() && v.reason.find("weighted sum") != std::string::npos;
    if (!v.passed) continue;
    // Another draw has other weights.
    p.workload->begin_audit(Audit::new_inputs);
    p.time(1);
    caught += p.workload->end_audit().wrong();
  }
  EXPECT_GE(caught, 19);
}

TEST(OperationWorkload, AnAuditFindsRunsThatDoNotCompute) {
  // Stale outputs are right until they are poisoned, or until the inputs are others.
  for (const Audit kind : {Audit::poisoned_outputs, Audit::new_inputs}) {
    for (const DataType type : {DataType::fp32, DataType::bf16, DataType::s32}) {
      for (const bool is_cold : {false, true}) {
        Shape shape;
        shape.type = type;
        SmallHost device;
        auto made = std::make_unique<Stopping>(shape);
        Stopping& operation = *made;
        const auto workload = make_operation_workload(Product(shape), std::move(made), device,
                                                      std::make_unique<ProductOracle>(shape), 0,
                                                      is_cold ? cold() : OperationSetup{});
        ASSERT_TRUE(workload->verify_before().passed);
        const auto run = [&] {
          workload->reset();
          workload->run(workload->stream());
        };
        for (int i = 0; i < 30; ++i) run();
        workload->begin_audit(kind);
        run();
        EXPECT_TRUE(workload->end_audit().passed);
        operation.idle = true;
        run();
        workload->begin_audit(kind);
        run();
        const Verification v = workload->end_audit();
        EXPECT_TRUE(v.wrong()) << name(type) << is_cold;
        EXPECT_NE(v.reason.find("in the timed phase"), std::string::npos) << v.reason;
      }
    }
  }
}

TEST(OperationWorkload, NotANumberAnywhereFails) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    OperationSetup setup;
    setup.reference_budget = 400;
    PreparedProduct p(Shape{}, setup, [bad](int run, float* y) {
      if (run == 3) y[31] = bad;
    });
    const Verification v = p.workload->verify_before();
    EXPECT_FALSE(v.passed);
    EXPECT_NE(v.reason.find("y[10,1] is "), std::string::npos) << v.reason;
    EXPECT_TRUE(std::isfinite(v.max_error) && std::isfinite(v.norm_error) &&
                std::isfinite(v.error_over_bound));
  }
  PreparedProduct checked(Shape{}, {}, [](int run, float* y) {
    if (run == 2) y[0] = std::nanf("");
  });
  EXPECT_FALSE(checked.workload->verify_before().passed);
}

/// An operation that computes nothing leaves the poison, at any time.
class Idle final : public Operation {
 public:
  Idle(Shape shape, int idle_from) : real_(shape), idle_from_(idle_from) {}
  const std::vector<TensorSpec>& arguments() const override { return real_.arguments(); }
  void bind(std::span<Tensor* const> tensors) override { real_.bind(tensors); }
  void run(Stream& stream) override {
    if (count_++ < idle_from_) real_.run(stream);
  }
  Execution execution() const override { return {}; }

 private:
  ProductOperation real_;
  int idle_from_, count_ = 0;
};

TEST(OperationWorkload, AnOperationThatDoesNothingFails) {
  for (const DataType type : {DataType::fp32, DataType::s32}) {
    for (const int idle_from : {0, 1, 2, 3, 4, 6}) {
      Shape shape;
      shape.type = type;
      SmallHost device;
      const auto workload =
          make_operation_workload(Product(shape), std::make_unique<Idle>(shape, idle_from), device,
                                  std::make_unique<ProductOracle>(shape), 0, {});
      const bool before = workload->verify_before().passed;
      EXPECT_EQ(before, idle_from >= 4);
      if (!before) continue;
      workload->reset();
      workload->run(workload->stream());
      workload->reset();
      workload->run(workload->stream());
      // 4: idle while timed, the outputs still hold the poison; 6: only the check after timing
      // shows it.
      const Verification after = workload->verify_after();
      EXPECT_FALSE(after.passed) << idle_from;
      EXPECT_NE(
          after.reason.find(idle_from == 4 ? "as the last timed run left it" : "after timing"),
          std::string::npos)
          << after.reason;
    }
  }
}

TEST(OperationWorkload, AFaultOfATimedRunShowsAfterwards) {
  PreparedProduct p(Shape{}, {}, [](int run, float* y) {
    if (run == 8) y[299] *= 1.001f;
  });
  EXPECT_TRUE(p.workload->verify_before().passed);
  p.time(5);  // runs 4 to 8
  const Verification v = p.workload->verify_after();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("y[99,2]"), std::string::npos) << v.reason;
}

TEST(OperationWorkload, ALowerPrecisionFailsOnFullSignificandsOnly) {
  // tf32 or bf16 arithmetic is exact on small integers.
  PreparedProduct p(Shape{}, {}, [](int, float* y) {
    for (int i = 0; i < 300; ++i) y[i] = static_cast<float>(round_to(DataType::bf16, y[i]));
  });
  const Verification v = p.workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_TRUE(v.exact);
  EXPECT_NE(v.reason.find("full-significand"), std::string::npos) << v.reason;
}

/// The product's, whose results and bounds a test may change.
class ChangedOracle final : public Oracle {
 public:
  using Change = std::function<void(Expected&)>;
  ChangedOracle(Shape shape, Change change) : real_(shape), change_(std::move(change)) {}
  int exact_magnitude(const Execution&) const override { return 0; }
  int full_magnitude(const TensorSpec& spec) const override { return real_.full_magnitude(spec); }
  std::vector<std::int64_t> sample(const TensorSpec& o, double b, std::uint64_t s) const override {
    return real_.sample(o, b, s);
  }
  void expect(const TensorSpec& o, const Inputs& in, const Execution& e, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    real_.expect(o, in, e, exact, indices, expected);
    for (Expected& expectation : expected) change_(expectation);
  }
  std::optional<double> checksum(const TensorSpec&, const Inputs&,
                                 const ChecksumWeights&) const override {
    return {};
  }

 private:
  ProductOracle real_;
  Change change_;
};

Verification verified(const Shape& shape, ChangedOracle::Change change, Fault fault = {},
                      const OperationSetup& setup = {}) {
  SmallHost device;
  return make_operation_workload(
             Product(shape), std::make_unique<ProductOperation>(shape, std::move(fault)), device,
             std::make_unique<ChangedOracle>(shape, std::move(change)), 0, setup)
      ->verify_before();
}

TEST(OperationWorkload, BoundsWiderThanTheResultsDecideNothing) {
  const auto widened = [](double to) {
    return [to](Expected& expected) { expected.max_bound = expected.rms_bound = to; };
  };
  // a, b in (-1, 1), 40 products a result: a root mean square of about 2.
  const Verification decided = verified({}, widened(0.5));
  EXPECT_TRUE(decided.passed) << decided.reason;
  EXPECT_FALSE(decided.undecided);
  const Verification undecided = verified({}, widened(8));
  EXPECT_FALSE(undecided.passed);
  EXPECT_TRUE(undecided.undecided);
  EXPECT_NE(undecided.reason.find("cannot tell a wrong result from a right one"), std::string::npos)
      << undecided.reason;
  Shape few;
  few.rows = 15;  // some of so few may happen to be small
  EXPECT_FALSE(verified(few, widened(1)).undecided);
  EXPECT_TRUE(verified(few, widened(40)).undecided);
  // A wrong result is wrong, however wide the bound.
  const Verification wrong = verified({}, [](Expected& expected) {
    expected.max_bound = expected.rms_bound = 8;
    expected.value += 100;
  });
  EXPECT_FALSE(wrong.passed);
  EXPECT_FALSE(wrong.undecided) << wrong.reason;
  // The fault may be in a later buffer set, too.
  const auto late = [](int run, float* y) {
    if (run == 2) y[7] = std::numeric_limits<float>::quiet_NaN();
  };
  const Verification second = verified({}, widened(8), late, cold());
  EXPECT_FALSE(second.passed);
  EXPECT_FALSE(second.undecided) << second.reason;
  EXPECT_NE(second.reason.find("y["), std::string::npos) << second.reason;
}

TEST(OperationWorkload, WhetherBoundsDecideIsSettledByTheFirstDraw) {
  // Bounds about as wide as the results: by the data of a draw a little wider, or a little
  // narrower.
  double width = 1;
  SmallHost device;
  const auto workload = make_operation_workload(
      Product(Shape{}), std::make_unique<ProductOperation>(Shape{}), device,
      std::make_unique<ChangedOracle>(
          Shape{},
          [&width](Expected& expected) { expected.max_bound = expected.rms_bound = width; }),
      0, {});
  ASSERT_TRUE(workload->verify_before().passed);
  width = 8;
  workload->begin_audit(Audit::new_inputs);
  workload->reset();
  workload->run(workload->stream());
  EXPECT_TRUE(workload->end_audit().passed);
  EXPECT_TRUE(workload->verify_after().passed);
}

TEST(OperationWorkload, ASmallErrorEverywhereFailsTheNormTest) {
  // Each within its maximum bound, all together not.
  const Verification v = verified({}, [](Expected& expected) {
    expected.value += expected.rms_bound * 1.5;
    expected.max_bound = expected.rms_bound * 3;
  });
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("2-norm"), std::string::npos) << v.reason;
  EXPECT_LE(v.error_over_bound, 1);
}

// ---- memory

TEST(OperationWorkload, AsksForMemoryBeforeItAllocates) {
  SmallHost device;
  device.memory = 100000;  // 2 * 48000 + 1360 + 256 needed
  const Shape shape;
  const auto make = [&](OperationSetup setup) {
    return make_operation_workload(Product(shape), std::make_unique<ProductOperation>(shape),
                                   device, std::make_unique<ProductOracle>(shape), 0, setup);
  };
  EXPECT_NO_THROW(make({}));
  device.allocated = 0;
  device.memory = 97000;
  try {
    make({});
    FAIL();
  } catch (const CaseError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("needs 0.1 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("0.1 MiB are available"), std::string::npos) << text;
  }
  EXPECT_EQ(device.allocated, 0u);
  device.memory = 300000;
  EXPECT_THROW(make(cold()), CaseError);
  EXPECT_EQ(device.allocated, 0u);
}

TEST(OperationWorkload, TellsWorkAndSetup) {
  PreparedProduct p(Shape{}, {},
                    [](int, float*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  p.workload->verify_before();
  const std::map<std::string, double> work = p.workload->work();
  EXPECT_EQ(work.at("flops_per_s"), 24000);
  EXPECT_FALSE(work.contains("algorithmic_flops_per_s")) << "the row derives it, in one place";
  EXPECT_EQ(work.at("bytes_per_s"), 48000);
  const std::map<std::string, double> setup = p.workload->setup();
  EXPECT_EQ(setup.at("create"), 0.25);
  for (const char* name : {"allocate", "fill", "verify"}) EXPECT_GT(setup.at(name), 0) << name;
  EXPECT_EQ(setup.at("reorder"), 0);
  EXPECT_GE(setup.at("untimed_runs"), 4 * 2e-3) << "two runs in each of two passes";
}

TEST(OperationWorkload, RanksHaveDataOfTheirOwn) {
  OperationSetup first, second;
  second.rank = 1;
  PreparedProduct a(Shape{}, first), b(Shape{}, second);
  EXPECT_TRUE(a.workload->verify_before().passed);
  EXPECT_TRUE(b.workload->verify_before().passed);
  a.time(1);
  b.time(1);
  EXPECT_TRUE(a.workload->verify_after().passed);
  EXPECT_TRUE(b.workload->verify_after().passed);
}

}  // namespace test_operation_workload
}  // namespace assay
