// Products of the fp64 reference of recurrent networks, against plain sums: rows, columns and terms
// that fill no block, distances between rows, and numbers whose sums are exact in any order.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/rnn/gemm.hpp"

namespace test_rnn_gemm {

using namespace assay;

template <class T>
void expect_product(std::int64_t m, std::int64_t n, std::int64_t k, bool add, std::mt19937& draw) {
  const std::int64_t lda = k + 3, ldb = n + 5, ldc = n + 2;
  std::uniform_int_distribution<int> small(-9, 9);
  std::vector<double> a(static_cast<std::size_t>(m * lda)), c(static_cast<std::size_t>(m * ldc));
  std::vector<T> b(static_cast<std::size_t>(k * ldb));
  for (double& x : a) x = small(draw);
  for (T& x : b) x = static_cast<T>(small(draw));
  for (double& x : c) x = small(draw);
  std::vector<double> expected = c;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double& to = expected[static_cast<std::size_t>(i * ldc + j)];
      if (!add) to = 0;
      for (std::int64_t l = 0; l < k; ++l)
        to += a[static_cast<std::size_t>(i * lda + l)] *
              static_cast<double>(b[static_cast<std::size_t>(l * ldb + j)]);
    }
  recurrent::multiply(m, n, k, a.data(), lda, b.data(), ldb, c.data(), ldc, add);
  EXPECT_EQ(c, expected) << m << " x " << n << " x " << k << (add ? ", added" : "");
}

TEST(RnnGemm, IsThePlainSumForEveryShape) {
  std::mt19937 draw(7);
  for (const std::int64_t m : {1, 2, 3, 5, 6, 9, 13})
    for (const std::int64_t n : {1, 5, 31, 32, 70, 515, 1100})
      for (const std::int64_t k : {1, 3, 4, 9, 1030})
        for (const bool add : {false, true}) {
          expect_product<float>(m, n, k, add, draw);
          expect_product<double>(m, n, k, add, draw);
        }
  for (const std::int64_t m : {513, 515})  // several tiles one below the other
    for (const bool add : {false, true}) {
      expect_product<float>(m, 300, 130, add, draw);
      expect_product<double>(m, 300, 130, add, draw);
    }
}

TEST(RnnGemm, OfNoTermsIsZero) {
  const std::vector<double> a(4, 7);
  const std::vector<float> b(4, 7);
  for (const std::int64_t m : {2, 4}) {
    std::vector<double> c(static_cast<std::size_t>(m * 3), 7);
    recurrent::multiply(m, 3, 0, a.data(), 0, b.data(), 3, c.data(), 3, false);
    EXPECT_EQ(c, std::vector<double>(static_cast<std::size_t>(m * 3), 0));
  }
}

}  // namespace test_rnn_gemm
