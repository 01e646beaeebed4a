// Outputs that are judged by what they have together: a square root, of which either sign is right,
// beside an output that is judged element by element.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/product_operation.hpp"

namespace assay {
namespace test_relations {

using namespace testing_fakes;

constexpr std::int64_t length = 64;

/// root = +-a, twice = 2 a.
class RootOracle final : public Oracle {
 public:
  explicit RootOracle(double bound, bool states_relations = true)
      : bound_(bound), states_relations_(states_relations) {}
  int exact_magnitude(const Execution&) const override { return 0; }
  int full_magnitude(const TensorSpec&) const override { return 0; }
  std::vector<std::int64_t> sample(const TensorSpec& output, double, std::uint64_t) const override {
    EXPECT_EQ(output.name, "twice");
    return {0, 1, length - 1};
  }
  void expect(const TensorSpec&, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[i] = {2 * inputs.at("a")(indices[i]), 0, 0};
  }
  std::optional<double> checksum(const TensorSpec&, const Inputs&,
                                 const ChecksumWeights&) const override {
    return std::nullopt;
  }
  bool is_judged_by_relations(const TensorSpec& output) const override {
    return output.name == "root";
  }
  std::vector<Relation> relations(const Inputs& inputs, const Outputs& outputs, const Execution&,
                                  std::uint64_t seed) const override {
    seeds.insert(seed);
    if (!states_relations_) return {};
    EXPECT_EQ(outputs.size(), 1u) << "those that are judged so";
    const std::vector<double>& root = outputs.at("root");
    double errors = 0, squares = 0, zeros = 0;
    for (std::size_t i = 0; i < root.size(); ++i) {
      const double a = inputs.at("a")(static_cast<std::int64_t>(i));
      errors += std::pow(root[i] * root[i] - a * a, 2);
      squares += std::pow(a, 4);
      zeros += root[i] == 0;
    }
    return {{"square", "||root^2 - a^2|| / ||a^2||", std::sqrt(errors / squares), bound_},
            {"zeros", "number of zeros", zeros, 0}};
  }
  double widest_norm_bound() const override { return 1e-2; }
  mutable std::set<std::uint64_t> seeds;

 private:
  double bound_;
  bool states_relations_;
};

class RootOperation final : public Operation {
 public:
  explicit RootOperation(Fault fault) : fault_(std::move(fault)) {
    specs_ = {plain_tensor("a", Role::input, DataType::fp32, {length}),
              plain_tensor("root", Role::output, DataType::fp32, {length}),
              plain_tensor("twice", Role::output, DataType::fp32, {length})};
  }
  const std::vector<TensorSpec>& arguments() const override { return specs_; }
  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < 3; ++i) data_[i] = static_cast<float*>(tensors[i]->data());
  }
  void run(Stream&) override {
    for (std::size_t i = 0; i < length; ++i) {
      data_[1][i] = i % 3 == 0 ? -data_[0][i] : data_[0][i];
      data_[2][i] = 2 * data_[0][i];
    }
    if (fault_) fault_(runs_, data_[1]);
    ++runs_;
  }
  Execution execution() const override { return {}; }

 private:
  Fault fault_;
  int runs_ = 0;
  std::vector<TensorSpec> specs_;
  float* data_[3] = {};
};

struct Root {
  SmallHost device;
  RootOracle* oracle;
  std::unique_ptr<Workload> workload;

  explicit Root(Fault fault = {}, double bound = 1e-5, bool is_cold = false,
                bool states_relations = true) {
    auto made = std::make_unique<RootOracle>(bound, states_relations);
    oracle = made.get();
    device.cache = 1024;
    workload =
        make_operation_workload(Product(Shape{}), std::make_unique<RootOperation>(std::move(fault)),
                                device, std::move(made), 0, is_cold ? cold() : OperationSetup{});
  }
  Verification audit(Audit kind) {
    workload->begin_audit(kind);
    workload->reset();
    workload->run(workload->stream());
    return workload->end_audit();
  }
};

/// The reason of a failure before timing; empty: passed.
std::string reason_of(Fault fault, bool is_cold = false) {
  Root root(std::move(fault), 1e-5, is_cold);
  const Verification before = root.workload->verify_before();
  EXPECT_EQ(before.passed, before.reason.empty());
  EXPECT_FALSE(before.undecided);
  return before.reason;
}

TEST(Relations, RightAnswersPassInEveryPhase) {
  Root root([](int, float* y) { y[5] *= 1.000001f; });
  const Verification before = root.workload->verify_before();
  ASSERT_TRUE(before.passed) << before.reason;
  EXPECT_EQ(before.reference, "fp64, 67 of 128 outputs by square, zeros");
  EXPECT_GT(before.norm_error, 0);
  EXPECT_EQ(before.norm_error, before.max_error);
  EXPECT_EQ(before.norm_bound, 1e-5);
  EXPECT_EQ(before.bound, 1e-5);
  EXPECT_DOUBLE_EQ(before.error_over_bound, before.max_error / 1e-5);
  EXPECT_TRUE(root.audit(Audit::poisoned_outputs).passed);
  EXPECT_TRUE(root.audit(Audit::new_inputs).passed);
  root.workload->reset();
  root.workload->run(root.workload->stream());
  EXPECT_TRUE(root.workload->verify_after().passed);
  EXPECT_EQ(root.oracle->seeds.size(), 3u) << "before, after new inputs, after timing";
}

TEST(Relations, WhatDoesNotHoldIsNamedWithItsBound) {
  const std::string wrong = reason_of([](int, float* y) { y[5] *= 1.01f; });
  EXPECT_NE(wrong.find("square: ||root^2 - a^2|| / ||a^2|| is 0.00"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("(at most 1e-05 is allowed); full-significand inputs, before timing"),
            std::string::npos)
      << wrong;
  const std::string both = reason_of([](int, float* y) { y[0] = y[1] = 0; });
  EXPECT_NE(both.find("square: "), std::string::npos) << "the first that fails: " << both;
}

TEST(Relations, APropertyWithoutRoundingErrorsMustHold) {
  // The smallest of the elements is too small for the bound to find it.
  Root root(
      [](int, float* y) {
        int least = 0;
        for (int i = 1; i < length; ++i)
          if (std::abs(y[i]) < std::abs(y[least])) least = i;
        y[least] = 0;
      },
      9e-3);
  const Verification before = root.workload->verify_before();
  EXPECT_TRUE(before.wrong());
  EXPECT_NE(before.reason.find("zeros: number of zeros is 1 (it must be 0)"), std::string::npos)
      << before.reason;
  EXPECT_LT(before.error_over_bound, 1) << "a count is no relative error";
}

TEST(Relations, EveryElementIsWritten) {
  for (const float value : {std::nanf(""), HUGE_VALF}) {
    const std::string why = reason_of([value](int, float* y) { y[7] = value; });
    EXPECT_NE(why.find("root[7] is"), std::string::npos) << why;
  }
}

TEST(Relations, ALaterRunAndALaterSetAreChecked) {
  const auto late = [](int run, float* y) {
    if (run == 1) y[5] *= 1.01f;
  };
  EXPECT_NE(reason_of(late), "");
  const std::string second = reason_of(late, true);
  EXPECT_NE(second.find("buffer set 2 of"), std::string::npos) << second;
  EXPECT_EQ(reason_of({}, true), "");
}

TEST(Relations, AnAuditFindsAnAnswerToOldInputs) {
  std::vector<float> old;
  Root root([&old](int run, float* y) {
    if (run < 2) old.assign(y, y + length);
    std::copy(old.begin(), old.end(), y);
  });
  ASSERT_TRUE(root.workload->verify_before().passed);
  EXPECT_TRUE(root.audit(Audit::poisoned_outputs).passed);
  const Verification audit = root.audit(Audit::new_inputs);
  EXPECT_TRUE(audit.wrong());
  EXPECT_NE(audit.reason.find("square"), std::string::npos) << audit.reason;
}

TEST(Relations, ABoundThatTellsNoPrecisionDecidesNothing) {
  const Verification wide = Root({}, 2e-2).workload->verify_before();
  EXPECT_FALSE(wide.passed);
  EXPECT_TRUE(wide.undecided);
  EXPECT_NE(wide.reason.find("square: an error bound of 0.02"), std::string::npos) << wide.reason;
  EXPECT_TRUE(Root([](int, float* y) { y[3] = 9; }, 2e-2).workload->verify_before().wrong());
}

TEST(Relations, AnOracleThatStatesNonePassesNothing) {
  EXPECT_THROW(Root({}, 1e-5, false, false).workload->verify_before(), std::logic_error);
}

}  // namespace test_relations
}  // namespace assay
