// A backward pass whose operation reads what its forward pass saved: the prologue runs whenever the
// inputs of the bound tensors are new, and never else.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/product_operation.hpp"

namespace assay {
namespace test_saved {

using namespace testing_fakes;

constexpr std::int64_t length = 64;

/// y = a^3: the "forward pass" saves a^2, run() multiplies it by a. `a` has a scale.
class CubeOracle final : public Oracle {
 public:
  int exact_magnitude(const Execution&) const override { return 0; }
  int full_magnitude(const TensorSpec&) const override { return 0; }
  int scale_exponent(const TensorSpec&) const override { return -3; }
  std::vector<std::int64_t> sample(const TensorSpec& output, double, std::uint64_t) const override {
    std::vector<std::int64_t> all(static_cast<std::size_t>(output.elements()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return all;
  }
  void expect(const TensorSpec&, const Inputs& inputs, const Execution&, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const double a = inputs.at("a")(indices[i]), bound = std::abs(a * a * a) * 0x1p-20;
      EXPECT_LE(std::abs(a), 0.125);
      expected[i] = {a * a * a, bound, bound};
    }
  }
  std::optional<double> checksum(const TensorSpec&, const Inputs&,
                                 const ChecksumWeights&) const override {
    return std::nullopt;
  }
};

class CubeOperation final : public Operation {
 public:
  /// `stale`: the prologue of a broken operation, which saves once alone. `consumes`: run()
  /// overwrites what was saved.
  explicit CubeOperation(bool stale, bool consumes = false) : stale_(stale), consumes_(consumes) {
    const auto add = [&](const char* name, Role role, std::vector<std::int64_t> dims) {
      TensorSpec spec;
      spec.name = name;
      spec.role = role;
      spec.dims = std::move(dims);
      spec.bytes = length * sizeof(float);
      specs_.push_back(spec);
    };
    add("a", Role::input, {length});
    add("y", Role::output, {length});
    add("squares", consumes ? Role::consumed : Role::saved, {});
  }
  const std::vector<TensorSpec>& arguments() const override { return specs_; }
  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < 3; ++i) data_[i] = static_cast<float*>(tensors[i]->data());
    saved.insert(data_[2]);
  }
  void prologue(Stream&) override {
    ++prologues;
    if (stale_ && prologues > 1) return;
    for (std::size_t i = 0; i < length; ++i) data_[2][i] = data_[0][i] * data_[0][i];
  }
  void run(Stream&) override {
    ++runs;
    for (std::size_t i = 0; i < length; ++i) {
      data_[1][i] = data_[2][i] * data_[0][i];
      if (consumes_) data_[2][i] = 0;
    }
  }
  Execution execution() const override { return {}; }
  int prologues = 0, runs = 0;
  std::set<float*> saved;

 private:
  bool stale_, consumes_;
  std::vector<TensorSpec> specs_;
  float* data_[3] = {};
};

struct Cube {
  SmallHost device;
  CubeOperation* operation;
  std::unique_ptr<Workload> workload;

  explicit Cube(bool is_cold, bool stale = false, bool consumes = false) {
    auto made = std::make_unique<CubeOperation>(stale, consumes);
    operation = made.get();
    device.cache = 1024;
    workload = make_operation_workload(Product(Shape{}), std::move(made), device,
                                       std::make_unique<CubeOracle>(), 0,
                                       is_cold ? cold() : OperationSetup{});
  }
  void run(int times) {
    for (int i = 0; i < times; ++i) {
      workload->reset();
      workload->run(workload->stream());
    }
  }
  /// An audit, as the sampler makes it.
  Verification audit(Audit kind) {
    workload->begin_audit(kind);
    run(1);
    return workload->end_audit();
  }
};

TEST(Saved, ThePrologueFollowsNewInputsAlone) {
  Cube hot(false);
  EXPECT_TRUE(hot.workload->verify_before().passed);
  EXPECT_EQ(hot.operation->prologues, 1);
  EXPECT_TRUE(hot.workload->batchable());
  hot.run(5);
  EXPECT_EQ(hot.operation->prologues, 1) << "timed runs have the inputs that they had";
  EXPECT_TRUE(hot.audit(Audit::poisoned_outputs).passed);
  EXPECT_EQ(hot.operation->prologues, 1);
  const Verification fresh = hot.audit(Audit::new_inputs);
  EXPECT_TRUE(fresh.passed) << fresh.reason;
  EXPECT_EQ(hot.operation->prologues, 2);
  EXPECT_TRUE(hot.workload->verify_after().passed);
  EXPECT_EQ(hot.operation->prologues, 3);
}

TEST(Saved, EachSetOfBuffersHasItsOwn) {
  Cube rotated(true);  // 3 tensors of 256 bytes: 3 sets exceed twice the cache of 1 KiB
  const Verification before = rotated.workload->verify_before();
  EXPECT_TRUE(before.passed) << before.reason;
  const int sets = static_cast<int>(rotated.operation->saved.size());
  EXPECT_EQ(sets, 3);
  EXPECT_EQ(rotated.operation->prologues, sets);
  rotated.run(7);
  EXPECT_EQ(rotated.operation->prologues, sets);
  EXPECT_TRUE(rotated.audit(Audit::new_inputs).passed);
  EXPECT_EQ(rotated.operation->prologues, sets + 1);
  EXPECT_TRUE(rotated.workload->verify_after().passed);
}

TEST(Saved, WhatARunConsumesIsMadeBeforeEachRun) {
  for (const bool cold : {false, true}) {
    Cube cube(cold, false, true);
    const Verification before = cube.workload->verify_before();
    EXPECT_TRUE(before.passed) << before.reason;
    EXPECT_FALSE(cube.workload->batchable()) << "else only the first run of a batch were right";
    cube.run(5);
    EXPECT_EQ(cube.operation->prologues, cube.operation->runs);
    EXPECT_TRUE(cube.audit(Audit::poisoned_outputs).passed);
    EXPECT_TRUE(cube.audit(Audit::new_inputs).passed);
    const Verification after = cube.workload->verify_after();
    EXPECT_TRUE(after.passed) << after.reason;
    EXPECT_EQ(cube.operation->prologues, cube.operation->runs);
  }
}

TEST(Saved, WhatWasSavedForOtherInputsIsFound) {
  Cube stale(false, true);
  EXPECT_TRUE(stale.workload->verify_before().passed);
  stale.run(2);
  EXPECT_FALSE(stale.audit(Audit::new_inputs).passed);
}

}  // namespace test_saved
}  // namespace assay
