// A failure in a thread of a reference that reads the data of a network must not end the program.

#include <gtest/gtest.h>

#include <memory>

#include "core/base/error.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay {
namespace test_failures {

/// A copy of a tensor on a device that fails when it is read.
class Lost final : public StoredValues {
 public:
  DataType type() const override { return DataType::fp32; }
  void fill(std::int64_t, std::span<double>) const override { throw CaseError("the copy is lost"); }
};

/// One input can be read, and one cannot.
void expect_thrown(const Oracle& oracle, const std::vector<TensorSpec>& specs) {
  const TensorSpec& output = specs.back();
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < output.elements(); i += 7) indices.push_back(i);
  std::vector<Expected> expected(indices.size());
  for (const std::size_t lost : {0, 1}) {
    Inputs inputs;
    for (std::size_t i = 0; i < 2; ++i)
      inputs.emplace(specs[i].name, i == lost ? Values(std::make_shared<const Lost>())
                                              : Values(Values::Kind::mantissa, 1, specs[i].name,
                                                       specs[i].type, 0));
    EXPECT_THROW(oracle.expect(output, inputs, Execution{}, false, indices, expected), CaseError);
    EXPECT_THROW(oracle.checksum(output, inputs, ChecksumWeights(output.dims, 1)), CaseError);
  }
}

TEST(Oracle, ThrowsWhatItsThreadsMeet) {
  for (const char* form : {"m150n130k160", "m150n130k160tatb"}) {
    const GemmProblem problem(parse_gemm(form), Precision::fp32);
    expect_thrown(*make_gemm_oracle(problem), problem.tensors());
  }
  for (const ConvDirection direction :
       {ConvDirection::forward, ConvDirection::bwd_data, ConvDirection::bwd_weights}) {
    const ConvProblem problem(parse_conv("mb4ic16ih32oc16oh32kh3ph1"), direction, Precision::fp32);
    expect_thrown(*make_conv_oracle(problem), problem.tensors());
  }
}

}  // namespace test_failures
}  // namespace assay
