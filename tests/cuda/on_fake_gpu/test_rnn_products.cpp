// Products of the reference of recurrent networks on a fake GPU, which runs our kernels' threads on
// the host, beside those of the host.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "assay/test_paths.hpp"
#include "core/program/plugins.hpp"
#include "fake_gpu.hpp"
#include "kernels/rnn/recurrence.hpp"
#include "kernels/rnn/weight_gradients.hpp"
#include "rnn/plain_rnn.hpp"

namespace assay {
namespace test_rnn_products {

using namespace recurrent;
using fake_gpu::crossed;

Prover* prover() {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  return std::get<Device*>(std::get<Backend*>(plugins.open("cuda"))->device(Options{}))->prover();
}

struct Shape {
  std::int64_t m, rows, columns;
};

TEST(RnnProducts, AreThoseOfTheHost) {
  std::mt19937 draw(3);
  std::uniform_real_distribution<double> any(-1, 1);
  // Few rows, whose sums are divided into parts; rows that fill no thread; more rows than the GPU
  // gets at once.
  for (const Shape& s :
       {Shape{1, 1300, 1330}, {2, 1100, 705}, {9, 400, 433}, {70, 150, 139}, {300001, 8, 7}})
    for (const bool transposed : {false, true})
      for (const bool add : {false, true}) {
        std::vector<float> numbers(static_cast<std::size_t>(s.rows * s.columns));
        for (float& x : numbers) x = static_cast<float>(any(draw));
        const std::int64_t first = s.columns / 5, count = s.columns - first - 1,
                           terms = transposed ? count : s.rows, n = transposed ? s.rows : count,
                           lda = terms + 3, ldc = n + 2;
        std::vector<double> a(static_cast<std::size_t>(s.m * lda)),
            before(static_cast<std::size_t>(s.m * ldc));
        for (double& x : a) x = any(draw);
        for (double& x : before) x = any(draw);
        std::vector<double> here = before, there = before;
        const auto product = [&](std::vector<double>& c) {
          return KeptProduct{s.m, first, count, transposed, a.data(), lda, c.data(), ldc, add};
        };
        Weights(s.rows, s.columns, numbers, nullptr).multiply(product(here));
        const Weights kept(s.rows, s.columns, numbers, prover());
        const std::size_t copied = crossed();
        kept.multiply(product(there));
        if (fake_gpu::counter != nullptr) {
          EXPECT_GE(crossed() - copied,
                    static_cast<std::size_t>(s.m * (terms + n)) * sizeof(double));
        }
        for (std::size_t i = 0; i < here.size(); ++i)
          ASSERT_NEAR(there[i], here[i], 1e-12)
              << s.m << " x " << s.rows << " x " << s.columns << transposed << add << " " << i;
      }
}

TEST(RnnProducts, OfAFewNumbersStayOnTheHost) {
  const Weights kept(3, 2, std::vector<float>(6, 1), prover());
  const std::vector<double> a{1, 2, 3};
  std::vector<double> c(2);
  const std::size_t copied = crossed();
  kept.multiply({1, 0, 2, false, a.data(), 3, c.data(), 2, false});
  EXPECT_EQ(c, (std::vector<double>{6, 6}));
  EXPECT_EQ(crossed(), copied);
}

void expect_near(const Numbers& found, const Numbers& wanted, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 1e-10 * (std::abs(wanted[i]) + 1e-3)) << what << " " << i;
}

TEST(RnnProducts, MakeTheSameRecurrences) {
  for (const std::string& cell : list_names<RnnCell>())
    for (const char* shape : {":330-10-3", ":330-10-3-l2-bi"})
      for (const RnnInput input : {RnnInput::linear, RnnInput::skip}) {
        const RnnProblem problem(parse_rnn(cell + shape), input, RnnDirection::bwd,
                                 Precision::fp16);
        const Inputs inputs = rnn_test::make_inputs(problem, *make_rnn_oracle(problem), 3);
        const std::string what = problem.canonical() + " " + name(input);
        Products products;
        products.stored_sums = 2;
        const auto of = [&](Prover* device) {
          const Parameters parameters(problem, inputs, device);
          Recurrence all(problem, parameters, inputs, products, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
          all.forward(true);
          all.backward(true);
          return all.diff_input();
        };
        const Field here = of(nullptr);
        const std::size_t copied = crossed();
        const Field there = of(prover());
        if (fake_gpu::counter != nullptr) {
          EXPECT_GT(crossed(), copied + 3 * 330 * 10 * sizeof(double)) << what;
        }
        expect_near(there.value, here.value, what);
        ASSERT_EQ(there.variance.size(), here.variance.size());
        for (std::size_t i = 0; i < here.variance.size(); ++i)
          ASSERT_NEAR(there.variance[i], here.variance[i], 1e-6 * here.variance[i]) << what << i;
        if (HasFatalFailure()) return;
      }
}

}  // namespace test_rnn_products
}  // namespace assay
