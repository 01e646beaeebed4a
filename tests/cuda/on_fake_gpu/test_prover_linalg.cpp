// References of kernels of data analysis that the GPU computes beside those of the host.

#include <algorithm>

#include "kernels/linalg/problem.hpp"
#include "prover_trial.hpp"
#include "tests/kernels/linalg/linalg_helpers.hpp"

namespace assay {
namespace test_prover_linalg {

using namespace prover_trial;

const char* const shapes[] = {
    "syrk:n700d9",          "moments:n1100d7",        "hinge_hessian:n600d8",
    "kmeans_assign:n1d1k1", "kmeans_assign:n900d5k4", "hinge:n1d1",
    "hinge:n1300d6"};

/// Inputs are made by the GPU, as assay-linalg's are; the GPU leaves those that are stored to the
/// host.
TEST(Prover, AddsObservationsAsTheHost) {
  for (const char* shape : shapes)
    for (const Precision precision : {Precision::fp64, Precision::fp32})
      for (const bool stored : {false, true}) {
        const LinalgProblem problem(parse_linalg(shape), precision);
        const Trial trial(make_linalg_oracle(problem), problem.tensors(), false, stored);
        const std::size_t before = crossed();
        expect_same_values(trial, *make_linalg_oracle(problem), linalg_test::honest(precision));
        ASSERT_FALSE(HasFailure()) << shape << name(precision) << stored;
        if (!stored && fake_gpu::counter != nullptr) {
          EXPECT_GT(crossed(), before) << "the GPU was not asked";
        }
      }
}

TEST(Prover, AddsIntegersOfObservationsExactly) {
  for (const char* shape : shapes)
    for (const Precision precision : {Precision::fp64, Precision::fp32}) {
      const LinalgProblem problem(parse_linalg(shape), precision);
      const Execution execution = linalg_test::honest(precision);
      const int magnitude = make_linalg_oracle(problem)->exact_magnitude(execution);
      if (magnitude == 0) continue;  // of hinge_hessian
      const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
      *trial.inputs = linalg_test::data(problem, Values::Kind::integer, magnitude, 3);
      expect_same_values(trial, *make_linalg_oracle(problem), execution, true);
      ASSERT_FALSE(HasFailure()) << shape << name(precision);
    }
}

/// Observations that are about as near to two centroids.
TEST(Prover, DoubtsLabelsAsTheHost) {
  const LinalgProblem problem(parse_linalg("kmeans_assign:n60000d2k5"), Precision::fp32);
  const Execution execution = linalg_test::honest(Precision::fp32);
  const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
  expect_same_values(trial, *make_linalg_oracle(problem), execution);
  const TensorSpec& labels = trial.specs[2];
  std::vector<Expected> expected(static_cast<std::size_t>(labels.elements()));
  expect_block(*trial.oracle, labels, *trial.inputs, execution, false, 0, expected);
  EXPECT_GT(std::ranges::count_if(expected, [](const Expected& of) { return of.max_bound > 0; }), 0)
      << labels.name;
}

/// Expects two numbers that the host and the GPU find to be equal but for roundings.
void expect_equal(double there, double here, bool exact) {
  if (exact)
    EXPECT_EQ(there, here);
  else
    EXPECT_NEAR(there, here, 1e-10 * std::abs(here));
}

TEST(Prover, WeighsAllSumsOfObservationsAsTheHost) {
  for (const char* shape : {"syrk:n713d9", "moments:n1113d7", "hinge_hessian:n613d8"})
    for (const auto kind : {Values::Kind::mantissa, Values::Kind::integer}) {
      const LinalgProblem problem(parse_linalg(shape), Precision::fp64);
      const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
      *trial.inputs = linalg_test::data(problem, kind, 4, 5);
      const std::size_t before = crossed();
      for (const TensorSpec& spec : problem.tensors()) {
        if (!is_output(spec)) continue;
        const ChecksumWeights weights(spec.dims, 7);
        expect_equal(*trial.oracle->checksum(spec, *trial.inputs, weights),
                     *make_linalg_oracle(problem)->checksum(spec, *trial.inputs, weights),
                     kind == Values::Kind::integer);
      }
      if (fake_gpu::counter != nullptr) {
        EXPECT_GT(crossed(), before) << shape << ": the GPU was not asked";
      }
    }
}

/// A right factor errs by roundings alone, which show little: the outputs here are wrong.
TEST(Prover, FindsTheErrorOfAFactorAsTheHost) {
  const LinalgProblem problem(parse_linalg("qr:n913d6"), Precision::fp64);
  const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
  const Outputs outputs{{"r", std::vector<double>(36, 2)}};
  const std::size_t before = crossed();
  const auto there = trial.oracle->relations(*trial.inputs, outputs, Execution{}, 9),
             here = make_linalg_oracle(problem)->relations(*trial.inputs, outputs, Execution{}, 9);
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) expect_equal(there[i].error, here[i].error, false);
  EXPECT_GT(here.back().error, 0.1);
  if (fake_gpu::counter != nullptr) {
    EXPECT_GT(crossed(), before) << "the GPU was not asked";
  }
}

/// The GPU, and the sizes and first elements of what the host asks it for.
class Watched final : public Prover {
 public:
  struct Asked {
    std::int64_t first;
    std::size_t elements, table;
  };
  std::optional<ElementComparison> compare(Tensor& output, ElementRange range,
                                           const ElementFormula& formula,
                                           const Inputs& inputs) override {
    return gpu().prover()->compare(output, range, formula, inputs);
  }
  std::optional<std::vector<Expected>> expect(const ElementFormula& formula, const Inputs& inputs,
                                              std::span<const std::int64_t> indices) override {
    asked.push_back({indices.front(), indices.size(), formula.table.size()});
    return gpu().prover()->expect(formula, inputs, indices);
  }
  std::optional<std::vector<double>> sum(const ElementFormula& formula, const Inputs& inputs,
                                         const Channels& over) override {
    return gpu().prover()->sum(formula, inputs, over);
  }
  std::vector<Asked> asked{};
};

constexpr std::int64_t rows_at_once = std::int64_t{1} << 18;

/// The host has memory for a part of the observations, whose products it adds before the next.
TEST(Prover, WeighsObservationsInParts) {
  ONLY_ON_THE_FAKE_GPU();
  const LinalgProblem problem(parse_linalg("syrk:n262201d2"), Precision::fp64);
  const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
  Watched watched;
  trial.oracle->use(watched);
  const TensorSpec& c = trial.specs.back();
  const ChecksumWeights weights(c.dims, 7);
  expect_equal(*trial.oracle->checksum(c, *trial.inputs, weights),
               *make_linalg_oracle(problem)->checksum(c, *trial.inputs, weights), false);
  std::vector<std::int64_t> firsts;
  for (const Watched::Asked& asked : watched.asked) firsts.push_back(asked.first);
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{0, 0, rows_at_once, rows_at_once}));
}

TEST(Prover, FindsTheErrorOfAFactorInParts) {
  ONLY_ON_THE_FAKE_GPU();
  const LinalgProblem problem(parse_linalg("qr:n262201d2"), Precision::fp64);
  const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
  Watched watched;
  trial.oracle->use(watched);
  const Outputs outputs{{"r", std::vector<double>(4, 2)}};
  const auto there = trial.oracle->relations(*trial.inputs, outputs, Execution{}, 9),
             here = make_linalg_oracle(problem)->relations(*trial.inputs, outputs, Execution{}, 9);
  for (std::size_t i = 0; i < here.size(); ++i) expect_equal(there[i].error, here[i].error, false);
  ASSERT_FALSE(watched.asked.empty());
  for (const Watched::Asked& asked : watched.asked) {
    EXPECT_LE(asked.elements, static_cast<std::size_t>(rows_at_once));
    EXPECT_LE(asked.table, static_cast<std::size_t>(2 * rows_at_once + 1));
  }
}

/// They are those of x, whatever vector it is multiplied by.
TEST(Prover, AddsTheSquaresOfAFactorOnce) {
  ONLY_ON_THE_FAKE_GPU();
  const LinalgProblem problem(parse_linalg("qr:n915d6"), Precision::fp64);
  const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
  Watched watched;
  trial.oracle->use(watched);
  const Outputs outputs{{"r", std::vector<double>(36, 2)}};
  trial.oracle->relations(*trial.inputs, outputs, Execution{}, 9);
  ASSERT_GE(watched.asked.size(), 4u);  // the products with a vector, and with what they are
  EXPECT_EQ(watched.asked[0].elements, 915u);
  EXPECT_EQ(watched.asked[1].elements, 2 * watched.asked[3].elements);
}

TEST(Prover, IsNotBelievedOfAFactorWhereItDiffersFromTheHost) {
  ONLY_ON_THE_FAKE_GPU();
  const LinalgProblem problem(parse_linalg("qr:n914d6"), Precision::fp64);
  const Trial trial(make_linalg_oracle(problem), problem.tensors(), false);
  const Outputs outputs{{"r", std::vector<double>(36, 2)}};
  const LostThreads lost("PartOfSum");
  EXPECT_THROW(trial.oracle->relations(*trial.inputs, outputs, Execution{}, 9), CaseError);
}

TEST(Prover, IsNotBelievedWhereItsSumsOfObservationsDifferFromTheHosts) {
  ONLY_ON_THE_FAKE_GPU();
  for (const char* shape : {"syrk:n701d9", "moments:n1101d7", "hinge_hessian:n601d8",
                            "kmeans_assign:n901d5k4", "hinge:n1301d6"}) {
    const LinalgProblem problem(parse_linalg(shape), Precision::fp32);
    const Trial trial(make_linalg_oracle(problem), problem.tensors(), false, false, 91);
    const LostThreads lost("PartOfSum");
    EXPECT_THROW(expect_same_values(trial, *make_linalg_oracle(problem),
                                    linalg_test::honest(Precision::fp32)),
                 CaseError)
        << shape;
  }
}

}  // namespace test_prover_linalg
}  // namespace assay
