// The pass after timing has other inputs than any run before it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/core/product_operation.hpp"

namespace assay {
namespace test_new_inputs {

using namespace testing_fakes;

/// Computes with the first values of one argument that it has seen, of integers and of full
/// significands, however they change: filters transformed once.
class Keeping final : public Operation {
 public:
  explicit Keeping(std::size_t argument) : argument_(argument) {}
  const std::vector<TensorSpec>& arguments() const override { return real_.arguments(); }
  void bind(std::span<Tensor* const> tensors) override {
    tensor_ = tensors[argument_];
    real_.bind(tensors);
  }
  void run(Stream& stream) override {
    auto* const data = static_cast<float*>(tensor_->data());
    const std::size_t kind = data[0] == std::round(data[0]) ? 1 : 0;
    std::vector<float>& kept = kept_[kind];
    if (kept.empty()) kept.assign(data, data + tensor_->spec().elements());
    std::copy(kept.begin(), kept.end(), data);
    real_.run(stream);
  }
  Execution execution() const override { return {}; }

 private:
  std::size_t argument_;
  Tensor* tensor_ = nullptr;
  std::array<std::vector<float>, 2> kept_;
  ProductOperation real_{Shape{}};
};

TEST(OperationWorkload, ThePassAfterTimingHasNewInputsAndNewWeights) {
  for (const int magnitude : {3, 0})  // with a pass of integers, and without, as of Winograd
    for (const std::size_t argument : {0, 1}) {
      SmallHost device;
      const auto workload =
          make_operation_workload(Product(Shape{}), std::make_unique<Keeping>(argument), device,
                                  std::make_unique<ProductOracle>(Shape{}, magnitude), 0, {});
      const Verification before = workload->verify_before();
      ASSERT_TRUE(before.passed) << before.reason;
      workload->reset();
      workload->run(workload->stream());
      const Verification after = workload->verify_after();
      EXPECT_TRUE(after.wrong()) << magnitude << " " << argument;
      EXPECT_NE(after.reason.find("after timing"), std::string::npos) << after.reason;
    }
}

}  // namespace test_new_inputs
}  // namespace assay
