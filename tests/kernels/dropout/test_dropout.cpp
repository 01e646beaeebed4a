// Dropout: the generator against published answers, the oracle against masks that are wrong, and
// the backends.

#include <cmath>
#include <random>

#include "core/base/error.hpp"
#include "kernels/dropout/benchmark.hpp"
#include "kernels/dropout/formula_items.hpp"
#include "kernels/dropout/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_dropout {

using namespace kernel_test;

/// kat_vectors of Random123 1.14, philox4x32 10.
TEST(Dropout, TheOraclesGeneratorGivesThePublishedAnswers) {
  const auto words = [](dropout::Words counter, std::uint32_t key0, std::uint32_t key1) {
    const dropout::Words of = dropout::philox(counter, key0, key1);
    return std::vector<std::uint32_t>(of.word, of.word + 4);
  };
  constexpr std::uint32_t all = 0xffffffff;
  EXPECT_EQ(words({{0, 0, 0, 0}}, 0, 0),
            (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words({{all, all, all, all}}, all, all),
            (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
            (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

/// The results of a problem at a step, for elements that are 1, by the oracle.
std::vector<double> masked(const DropoutProblem& problem, double step) {
  const TensorSpec output = problem.tensors().back();
  const auto elements = static_cast<std::size_t>(output.elements());
  const Inputs inputs{{problem.tensors().front().name, Values(std::vector<double>(elements, 1))},
                      {"counter", Values(std::vector<double>{step})}};
  std::vector<std::int64_t> indices(elements);
  for (std::size_t i = 0; i < elements; ++i) indices[i] = static_cast<std::int64_t>(i);
  std::vector<Expected> expected(elements);
  make_dropout_oracle(problem)->expect(output, inputs, {}, false, indices, expected);
  std::vector<double> values;
  for (const Expected& element : expected) {
    EXPECT_EQ(element.max_bound, 0);
    values.push_back(element.value);
  }
  return values;
}

/// Elements that differ.
int differing(const std::vector<double>& a, const std::vector<double>& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

TEST(Dropout, MasksDependOnStepAndKeyAlone) {
  const auto problem = [](const char* text, DropoutDirection direction) {
    return DropoutProblem(parse_dropout(text), direction, Precision::fp32);
  };
  const auto first = problem("mb10ic1000p0.25", DropoutDirection::forward);
  const std::vector<double> one = masked(first, 7);
  EXPECT_EQ(one, masked(first, 7));
  EXPECT_EQ(one, masked(problem("mb10ic1000p0.25", DropoutDirection::backward), 7));
  // Independent masks differ in 2 p (1 - p) of the elements, 3750 here, with a deviation of 48.
  EXPECT_NEAR(differing(one, masked(first, 8)), 3750, 300);
  for (const char* other : {"mb10ic1000p0.25k1", "mb10ic1000p0.25k4294967296"})
    EXPECT_NEAR(differing(one, masked(problem(other, DropoutDirection::forward), 7)), 3750, 300);
}

TEST(Dropout, KeepsTheRightPartAndScalesIt) {
  for (const auto& [p, scale] : {std::pair{"p0.5", 2.0}, std::pair{"p0.2", 1.25},
                                 std::pair{"p0", 1.0}, std::pair{"p0.9", 10.0}}) {
    const std::vector<double> values =
        masked(DropoutProblem(parse_dropout(std::string("mb10ic1000") + p),
                              DropoutDirection::forward, Precision::fp32),
               0);
    double sum = 0;
    for (const double value : values) {
      EXPECT_TRUE(value == 0 || value == round_to(DataType::fp32, scale)) << value;
      sum += value;
    }
    EXPECT_NEAR(sum / 10000, 1, 5 * std::sqrt((scale - 1) / 10000)) << p;
  }
}

/// Elements are counted with the channels innermost, in every layout.
TEST(Dropout, CountsChannelsInnermost) {
  const std::vector<double> image = masked(
      DropoutProblem(parse_dropout("mb2ic5ih3iw4"), DropoutDirection::forward, Precision::fp32), 3);
  const std::vector<double> rows = masked(
      DropoutProblem(parse_dropout("mb24ic5"), DropoutDirection::forward, Precision::fp32), 3);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t pixel = 0; pixel < 12; ++pixel)
        EXPECT_EQ(image[(n * 5 + c) * 12 + pixel], rows[(n * 12 + pixel) * 5 + c]);
}

TEST(DropoutBackends, HaveEveryPrecision) {
  std::mt19937 random(31);
  const auto up_to = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  // More than one block of words, and of parts of a thread.
  std::vector<std::string> problems{"mb1ic1", "mb7ic5000p0.2k9", "mb3ic4ih31p0"};
  for (int i = 0; i < 6; ++i)
    problems.push_back(to_descriptor({up_to(3), up_to(70), up_to(20), up_to(20),
                                      0.125 * static_cast<double>(random() % 8),
                                      static_cast<std::int64_t>(random()) << (random() % 31)}));
  for (const std::string backend : {"reference", "native"})
    for (const auto& [precision, count] :
         verify_all(dropout_benchmark(), problems,
                    {{"direction", {"all"}},
                     {"backend", {backend}},
                     {"layout", {backend == "native" ? "nhwc" : "nchw"}}}))
      EXPECT_EQ(count, static_cast<int>(problems.size()) * 2) << backend << precision;
}

TEST(DropoutProblem, DescriptorsAreReadAndWritten) {
  EXPECT_EQ(parse_dropout("mb16ic64ih56p0.2k7"), (DropoutShape{16, 64, 56, 56, 0.2, 7}));
  EXPECT_EQ(parse_dropout("p0.25mb2ic3"), (DropoutShape{2, 3, 1, 1, 0.25, 0}));
  EXPECT_EQ(parse_dropout("mb2ic3"), (DropoutShape{2, 3, 1, 1, 0.5, 0}));
  for (const char* text :
       {"mb4ic3ih2iw5p0.1", "mb4ic3p0", "mb4ic3ih1iw5p0.99k4294967297", "mb4ic3p0.0001"})
    EXPECT_EQ(to_descriptor(parse_dropout(text)), text);
  for (const char* wrong :
       {"", "mb1", "mb1ic2p", "mb1ic2p1", "mb1ic2p-0.1", "mb1ic2pnan", "mb1ic2p0.1p0.2",
        "mb1ic2k-1", "mb1ic2x4", "mb1mb1ic2", "mb99999999999ic99999999999ih3"})
    EXPECT_THROW(parse_dropout(wrong), InputError) << wrong;
}

TEST(DropoutProblem, CountsWhatIsMoved) {
  EXPECT_EQ(
      DropoutProblem(parse_dropout("mb2ic3ih4iw5"), DropoutDirection::backward, Precision::bf16)
          .bytes(),
      2 * 120 * 2 + 4);
}

}  // namespace test_dropout
}  // namespace assay
