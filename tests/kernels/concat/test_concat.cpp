// Concatenation: the oracle by hand, and the backends through the plugins over random shapes.

#include <random>

#include "core/base/error.hpp"
#include "kernels/concat/benchmark.hpp"
#include "kernels/concat/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_concat {

using namespace kernel_test;

/// The values that the oracle expects of the elements first, first + step, ….
std::vector<double> expected(const ConcatProblem& problem, const std::string& output,
                             const Inputs& inputs, std::int64_t step = 1) {
  const std::vector<TensorSpec> specs = problem.tensors();
  const TensorSpec& spec = *std::ranges::find(specs, output, &TensorSpec::name);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < spec.elements(); i += step) indices.push_back(i);
  std::vector<Expected> all(indices.size());
  make_concat_oracle(problem)->expect(spec, inputs, {}, false, indices, all);
  std::vector<double> values;
  for (const Expected& element : all) {
    EXPECT_EQ(element.max_bound, 0);
    values.push_back(element.value);
  }
  return values;
}

TEST(ConcatOracle, ByHand) {
  const ConcatShape shape = parse_concat("mb2ca1cb2ih1iw2");
  const ConcatProblem join(shape, ConcatDirection::forward, Precision::fp32);
  const std::vector<double> a{1, 2, 3, 4}, b{10, 11, 12, 13, 14, 15, 16, 17},
      whole{1, 2, 10, 11, 12, 13, 3, 4, 14, 15, 16, 17};
  const Inputs joined{{"src0", Values(std::vector(a))}, {"src1", Values(std::vector(b))}};
  EXPECT_EQ(expected(join, "dst", joined), whole);
  EXPECT_EQ(expected(join, "dst", joined, 3), (std::vector<double>{1, 11, 3, 15}));
  const ConcatProblem split(shape, ConcatDirection::backward, Precision::fp32);
  const Inputs diff{{"diff_dst", Values(std::vector(whole))}};
  EXPECT_EQ(expected(split, "diff_src0", diff), a);
  EXPECT_EQ(expected(split, "diff_src1", diff), b);
}

std::map<std::string, int> verify_random(const std::string& backend, int shapes,
                                         const std::vector<std::string>& layouts) {
  std::mt19937 random(43);
  const auto up_to = [&](unsigned most) { return 1 + static_cast<std::int64_t>(random() % most); };
  std::vector<std::string> problems{"mb1ca8cb8cc8cd8ce8cf8cg8ch8ih3", "mb1ca300cb16ih20iw31"};
  while (problems.size() < static_cast<std::size_t>(shapes)) {
    ConcatShape shape{up_to(3), up_to(9), up_to(9), {}};
    for (std::int64_t count = 1 + up_to(3); count > 0; --count)
      shape.channels.push_back(random() % 2 == 0 ? up_to(70) : 16 * up_to(4));
    problems.push_back(to_descriptor(shape));
    EXPECT_EQ(parse_concat(problems.back()), shape) << problems.back();
  }
  return verify_all(concat_benchmark(), problems,
                    {{"direction", {"all"}}, {"backend", {backend}}, {"layout", layouts}});
}

TEST(ConcatBackends, ReferenceHasEveryPrecision) {
  for (const auto& [precision, count] : verify_random("reference", 8, {"any", "nchw"}))
    EXPECT_EQ(count, 8 * 2 * 2) << precision;
}

TEST(ConcatBackends, NativeHasEveryPrecisionInBothLayouts) {
  for (const auto& [precision, count] : verify_random("native", 12, {"any", "nchw", "nhwc"}))
    EXPECT_EQ(count, 12 * 2 * 3) << precision;
}

TEST(ConcatBackends, OneDnnHasFp32InBothLayouts) {
  if (!kernel_test::is_built("onednn")) GTEST_SKIP() << "onednn is not built";
  const auto had = verify_random("onednn", 8, {"any", "nchw", "nhwc"});
  EXPECT_EQ(had.at("fp32"), 8 * 2 * 3);
  EXPECT_EQ(had.at("fp64"), 0);
}

/// Rows longer than what a thread copies at once, in parts that begin within a tensor.
TEST(ConcatBackends, NativeCopiesLongRowsInParts) {
  for (const char* layout : {"nchw", "nhwc"})
    for (const char* direction : {"forward", "backward"})
      EXPECT_TRUE(verify(concat_benchmark(), {{"problem", "mb2ca33cb20cc1ih43iw61"},
                                              {"direction", direction},
                                              {"backend", "native"},
                                              {"layout", layout},
                                              {"threads", "3"}}));
}

TEST(ConcatProblem, DescriptorsAreReadAndWritten) {
  EXPECT_EQ(parse_concat("mb2ca256cb48ih24iw36"), (ConcatShape{2, 24, 36, {256, 48}}));
  EXPECT_EQ(to_descriptor(parse_concat("cb3ih5ca2mb1iw5")), "mb1ca2cb3ih5");
  for (const char* wrong : {"", "mb1ca1ih1", "mb1ca1cc1ih1", "mb1ca1cb1cd1ih1", "mb1ca0cb1ih1",
                            "mb1ca1cb1ci1ih1", "mb1ca1cb1", "mb99999999999ca99999999cb1ih9"})
    EXPECT_THROW(parse_concat(wrong), InputError) << wrong;
  EXPECT_THROW(parse_name<ConcatDirection>("forwards"), InputError);
}

/// A network of one's own may join more than a descriptor can name.
TEST(ConcatProblem, JoinsNoMoreThanItsCodeHasPlacesFor) {
  ConcatShape shape{1, 2, 2, std::vector<std::int64_t>(most_joined, 3)};
  const ConcatProblem most(shape, ConcatDirection::forward, Precision::fp32);
  EXPECT_EQ(parse_concat(most.canonical()), shape);
  shape.channels.resize(10, 3);
  for (const auto direction : {ConcatDirection::forward, ConcatDirection::backward}) try {
      const ConcatProblem problem(shape, direction, Precision::fp32);
      FAIL() << "10 tensors are joined";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("10 tensors are joined, but at most 8"),
                std::string::npos)
          << error.what();
    }
}

}  // namespace test_concat
}  // namespace assay
