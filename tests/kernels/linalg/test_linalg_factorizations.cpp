// The oracles of eigenvectors and of triangular factors against factorizations by Eigen: what is
// right passes, in whatever form, and each fault is found.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "kernels/linalg/problem.hpp"

namespace assay {
namespace test_linalg_factorizations {

using Matrix = Eigen::MatrixXd;

/// Everything that the relations are asked of.
struct BoundUse {
  LinalgProblem problem;
  std::unique_ptr<Oracle> oracle;
  Inputs inputs;

  BoundUse(const std::string& text, Precision precision, std::uint64_t seed = 3)
      : problem(parse_linalg(text), precision), oracle(make_linalg_oracle(problem)) {
    const TensorSpec spec = problem.tensors().front();
    inputs.emplace(spec.name, Values(Values::Kind::mantissa, seed, spec.name, spec.type, 0));
  }

  /// The only input, row by row.
  Matrix input() const {
    const TensorSpec spec = problem.tensors().front();
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows(spec.dims[0],
                                                                                spec.dims[1]);
    inputs.at(spec.name).fill(0, {rows.data(), static_cast<std::size_t>(rows.size())});
    return rows;
  }

  /// The name of the first relation that does not hold; empty: all do.
  std::string failure(const Outputs& outputs, std::uint64_t seed = 1) const {
    for (const Relation& relation : oracle->relations(inputs, outputs, {}, seed))
      if (!(relation.error <= relation.bound)) return relation.name;
    return "";
  }
  bool decides() const {
    for (const Relation& relation : oracle->relations(inputs, zeros(), {}, 1))
      if (relation.bound > oracle->widest_norm_bound()) return false;
    return true;
  }
  Outputs zeros() const {
    Outputs outputs;
    for (const TensorSpec& spec : problem.tensors())
      if (spec.role == Role::output)
        outputs[spec.name].resize(static_cast<std::size_t>(spec.elements()));
    return outputs;
  }
};

std::vector<double> by_rows(const Matrix& matrix) {
  std::vector<double> all;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) all.push_back(matrix(i, j));
  return all;
}

/// `bits` significant ones.
double rounded(double value, int bits) {
  if (value == 0) return 0;
  const double scale = std::ldexp(1, std::ilogb(value) - bits + 1);
  return std::nearbyint(value / scale) * scale;
}
Matrix rounded(const Matrix& matrix, int bits) {
  return matrix.unaryExpr([bits](double value) { return rounded(value, bits); });
}

struct Decomposition {
  Eigen::VectorXd w;
  Matrix v;
  Outputs outputs() const { return {{"w", {w.data(), w.data() + w.size()}}, {"v", by_rows(v)}}; }
};

/// It uses the lower triangle, in the arithmetic of Real.
template <class Real>
Decomposition decomposed(const Matrix& a) {
  using Of = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::SelfAdjointEigenSolver<Of> solver(a.cast<Real>());
  return {solver.eigenvalues().template cast<double>(),
          solver.eigenvectors().template cast<double>()};
}

TEST(EighOracle, RightAnswersPassWhateverTheirSigns) {
  for (const int d : {1, 2, 3, 7, 33, 250}) {
    const std::string text = fmt::format("eigh:d{}", d);
    const BoundUse fp64(text, Precision::fp64), fp32(text, Precision::fp32);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(fp64.failure(decomposed<double>(fp64.input()).outputs(), seed), "") << text;
      Decomposition of = decomposed<float>(fp32.input());
      EXPECT_EQ(fp32.failure(of.outputs(), seed), "") << text;
      of.v.col(static_cast<Eigen::Index>(seed) % d) *= -1;
      EXPECT_EQ(fp32.failure(of.outputs(), seed), "") << text;
    }
    EXPECT_TRUE(fp64.decides() && fp32.decides()) << text;
  }
}

TEST(EighOracle, ACoarserArithmeticIsFound) {
  for (const int d : {2, 3, 7, 33, 250, 600}) {
    const std::string text = fmt::format("eigh:d{}", d);
    const BoundUse fp64(text, Precision::fp64), fp32(text, Precision::fp32);
    EXPECT_NE(fp64.failure(decomposed<float>(fp64.input()).outputs()), "") << text;
    EXPECT_EQ(fp32.failure(decomposed<double>(rounded(fp32.input(), 11)).outputs()), "residual")
        << text << ": operands of tf32";
    EXPECT_EQ(fp32.failure(decomposed<double>(rounded(fp32.input(), 8)).outputs()), "residual")
        << text << ": operands of bf16";
    Decomposition of = decomposed<double>(fp32.input());
    of.v = rounded(of.v, 11);
    EXPECT_NE(fp32.failure(of.outputs()), "") << text << ": a last product in tf32";
  }
}

TEST(EighOracle, EachFaultIsFound) {
  using Fault = std::function<void(Decomposition&)>;
  const std::pair<Fault, const char*> faults[] = {
      {[](Decomposition& of) { of.v.col(3).swap(of.v.col(4)); }, "residual"},
      {[](Decomposition& of) { of.v = of.v.transpose().eval(); }, "residual"},
      {[](Decomposition& of) { of.v.row(3).swap(of.v.row(4)); }, "residual"},
      {[](Decomposition& of) { of.v(5, 6) += 1e-4; }, "residual"},
      {[](Decomposition& of) { of.w(5) *= 1.0001; }, "residual"},
      {[](Decomposition& of) { of.v.col(2) *= 1.0001; }, "orthogonality"},
      {[](Decomposition& of) { of.v.col(2) = of.v.col(3), of.w(2) = of.w(3); }, "orthogonality"},
      {[](Decomposition& of) { of.v.col(2).setZero(); }, "orthogonality"},
      {[](Decomposition& of) { of.v = of.v.rowwise().reverse().eval(), of.w.reverseInPlace(); },
       "order"},
      {[](Decomposition& of) { of.v.col(3).swap(of.v.col(4)), std::swap(of.w(3), of.w(4)); },
       "order"}};
  const BoundUse judged("eigh:d24", Precision::fp32);
  for (const auto& [fault, relation] : faults) {
    Decomposition of = decomposed<float>(judged.input());
    fault(of);
    EXPECT_EQ(judged.failure(of.outputs()), relation) << &fault - &faults[0].first;
  }
  EXPECT_EQ(judged.failure(decomposed<double>(judged.input().transpose()).outputs()), "residual")
      << "the lower triangle is meant";
}

TEST(EighOracle, TheTraceIsComparedByItself) {
  const BoundUse judged("eigh:d24", Precision::fp64);
  Outputs of = decomposed<double>(judged.input()).outputs();
  const auto trace = [&] { return judged.oracle->relations(judged.inputs, of, {}, 1).at(3); };
  EXPECT_EQ(trace().name, "trace");
  EXPECT_LE(trace().error, trace().bound);
  of.at("w").back() += 1e-9;
  EXPECT_GT(trace().error, 1e-9 / judged.input().norm() / 2);
  EXPECT_GT(trace().error, trace().bound);
}

TEST(EighOracle, ManyFeaturesOfFp32CannotBeDecided) {
  EXPECT_TRUE(BoundUse("eigh:d4000", Precision::fp64).decides());
  const auto bound = [](double d) { return 30 * std::sqrt(d) * 0x1p-24; };
  const double widest = BoundUse("eigh:d3", Precision::fp32).oracle->widest_norm_bound();
  EXPECT_LT(bound(10000), widest);
  EXPECT_GT(bound(11000), widest);
}

/// r with a diagonal that is not negative, in the arithmetic of Real.
template <class Real>
Matrix triangle(const Matrix& x) {
  using Of = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  const Of of = x.cast<Real>();
  Matrix r = Eigen::HouseholderQR<Of>(of)
                 .matrixQR()
                 .topRows(x.cols())
                 .template triangularView<Eigen::Upper>()
                 .toDenseMatrix()
                 .template cast<double>();
  for (Eigen::Index i = 0; i < r.rows(); ++i)
    if (r(i, i) < 0) r.row(i).tail(r.cols() - i) *= -1;
  return r;
}

/// The worst order of sums: fp32, each added to one accumulator.
Matrix sequential_triangle(const Matrix& table) {
  Eigen::MatrixXf x = table.cast<float>();
  const auto dot = [&x](Eigen::Index j, Eigen::Index k) {
    float sum = 0;
    for (Eigen::Index i = j; i < x.rows(); ++i) sum += x(i, j) * x(i, k);
    return sum;
  };
  for (Eigen::Index j = 0; j < std::min(x.cols(), x.rows() - 1); ++j) {
    const float beta = -std::copysign(std::sqrt(dot(j, j)), x(j, j)), alpha = x(j, j);
    const float tau = (beta - alpha) / beta;
    for (Eigen::Index i = j + 1; i < x.rows(); ++i) x(i, j) /= alpha - beta;
    x(j, j) = 1;
    for (Eigen::Index k = j + 1; k < x.cols(); ++k) {
      const float factor = tau * dot(j, k);
      for (Eigen::Index i = j; i < x.rows(); ++i) x(i, k) -= x(i, j) * factor;
    }
    x(j, j) = beta;
  }
  Matrix r = x.topRows(x.cols()).triangularView<Eigen::Upper>().toDenseMatrix().cast<double>();
  for (Eigen::Index i = 0; i < r.rows(); ++i)
    if (r(i, i) < 0) r.row(i).tail(r.cols() - i) *= -1;
  return r;
}

TEST(QrOracle, RightAnswersPass) {
  for (const char* text : {"qr:n1d1", "qr:n2d1", "qr:n2d2", "qr:n3d2", "qr:n9d9", "qr:n300d24",
                           "qr:n9000d30", "qr:n600d250"})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const BoundUse fp64(text, Precision::fp64, seed), fp32(text, Precision::fp32, seed);
      ASSERT_EQ(fp64.failure({{"r", by_rows(triangle<double>(fp64.input()))}}, seed), "") << text;
      ASSERT_EQ(fp32.failure({{"r", by_rows(triangle<float>(fp32.input()))}}, seed), "") << text;
      ASSERT_EQ(fp32.failure({{"r", by_rows(sequential_triangle(fp32.input()))}}, seed), "")
          << text;
      ASSERT_TRUE(fp64.decides() && fp32.decides()) << text;
    }
}

TEST(QrOracle, ACoarserArithmeticIsFound) {
  // The third and the last have nearly as many observations as fp32 is judged with.
  for (const char* text : {"qr:n2d2", "qr:n300d24", "qr:n9000d30", "qr:n600d250", "qr:n4000d8"}) {
    const BoundUse fp64(text, Precision::fp64), fp32(text, Precision::fp32);
    ASSERT_TRUE(fp32.decides()) << text;
    const auto fails = [](const BoundUse& judged, const Matrix& r) {
      return judged.failure({{"r", by_rows(r)}}) == "Gram matrix";
    };
    EXPECT_TRUE(fails(fp64, triangle<float>(fp64.input()))) << text;
    EXPECT_TRUE(fails(fp64, triangle<double>(rounded(fp64.input(), 24)))) << text;
    EXPECT_TRUE(fails(fp32, triangle<double>(rounded(fp32.input(), 11)))) << text << ": tf32";
    EXPECT_TRUE(fails(fp32, triangle<double>(rounded(fp32.input(), 8)))) << text << ": bf16";
    EXPECT_TRUE(fails(fp32, rounded(triangle<double>(fp32.input()), 11))) << text << ": stored";
  }
}

TEST(QrOracle, EachFaultIsFound) {
  using Fault = std::function<void(Matrix&)>;
  const std::pair<Fault, const char*> faults[] = {
      {[](Matrix& r) { r.row(4) *= -1; }, "diagonal"},
      {[](Matrix& r) { r(7, 2) = 1e-300; }, "triangle"},
      {[](Matrix& r) { r.transposeInPlace(); }, "triangle"},
      {[](Matrix& r) { r(0, 9) += 1e-9; }, "Gram matrix"},
      {[](Matrix& r) { r(11, 11) += 1e-9; }, "Gram matrix"},
      {[](Matrix& r) { r(3, 8) *= -1; }, "Gram matrix"},
      {[](Matrix& r) { std::swap(r(3, 8), r(3, 9)); }, "Gram matrix"},
      {[](Matrix& r) { r *= 1 + 1e-10; }, "Gram matrix"}};
  const BoundUse judged("qr:n500d12", Precision::fp64);
  for (const auto& [fault, relation] : faults) {
    Matrix r = triangle<double>(judged.input());
    fault(r);
    EXPECT_EQ(judged.failure({{"r", by_rows(r)}}), relation) << &fault - &faults[0].first;
  }
  const Matrix part = judged.input().topRows(499);
  EXPECT_EQ(judged.failure({{"r", by_rows(triangle<double>(part))}}), "Gram matrix")
      << "one observation left out";
}

TEST(QrOracle, ManyObservationsOfFp32CannotBeDecided) {
  EXPECT_TRUE(BoundUse("qr:n28000d250", Precision::fp32).decides());
  EXPECT_FALSE(BoundUse("qr:n32000d250", Precision::fp32).decides());
  EXPECT_TRUE(BoundUse("qr:n262144d5", Precision::fp64).decides());
}

TEST(LinalgProblem, FactorizationsCountTheirWork) {
  const LinalgProblem eigh(parse_linalg("eigh:d250"), Precision::fp64);
  EXPECT_EQ(eigh.flops(), 9.0 * 250 * 250 * 250);
  EXPECT_EQ(eigh.bytes(), (2.0 * 250 * 250 + 250) * 8);
  const LinalgProblem qr(parse_linalg("qr:n3000d30"), Precision::fp64);
  EXPECT_EQ(qr.flops(), 2.0 * 30 * 30 * 2990);
  EXPECT_EQ(to_descriptor(parse_linalg("qr:d30n3000")), "qr:n3000d30");
  EXPECT_EQ(to_descriptor(parse_linalg("eigh:d7")), "eigh:d7");
}

}  // namespace test_linalg_factorizations
}  // namespace assay
