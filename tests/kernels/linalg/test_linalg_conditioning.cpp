// Backends of qr factorize the table itself: on an ill-conditioned one, r comes out with an error
// of about the condition number times the unit roundoff, where the Cholesky factor of the Gram
// matrix, which squares the condition number, has none of its digits left in the end.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include <bit>
#include <cmath>
#include <random>

#include "assay/test_paths.hpp"
#include "core/api/host_device.hpp"
#include "core/program/plugins.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay {
namespace test_linalg_conditioning {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Eigen::Index n = 4096, d = 24;

/// Columns of a Hadamard matrix over sqrt(n): orthonormal, exactly.
Matrix orthonormal() {
  Matrix q(n, d);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < d; ++j)
      q(i, j) = (std::popcount(static_cast<std::uint64_t>(i & (j + 1))) % 2 == 0 ? 1 : -1) / 64.0;
  return q;
}

/// An upper triangular matrix whose diagonal falls from 1 to 1 / condition, and whose rows are no
/// longer than a few times their diagonal.
Matrix triangle(double condition) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix r = Matrix::Zero(d, d);
  for (Eigen::Index i = 0; i < d; ++i) {
    r(i, i) = std::pow(condition, -static_cast<double>(i) / (d - 1));
    for (Eigen::Index j = i + 1; j < d; ++j) r(i, j) = r(i, i) * uniform(random);
  }
  return r;
}

void put(Device& device, Tensor& tensor, const Matrix& matrix) {
  device.put(tensor, [&matrix](std::int64_t first, std::span<double> out) {
    std::copy_n(matrix.data() + first, out.size(), out.begin());
  });
}

/// r of x by a backend; an empty matrix where it has none.
Matrix factor(const std::string& backend, const Matrix& x, Precision precision, int threads) {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static const auto ranks = make_serial_communicator();
  const Result<Backend*> opened = plugins.open(backend);
  if (std::holds_alternative<Unsupported>(opened)) return {};
  Backend& of = *std::get<Backend*>(opened);
  const Options options{{}, threads};
  const Result<Device*> device = of.device(options);
  if (std::holds_alternative<Unsupported>(device)) return {};
  const LinalgProblem problem({LinalgKernel::qr, x.rows(), x.cols()}, precision);
  Result<std::unique_ptr<Operation>> made = of.make(problem, options, *ranks);
  if (std::holds_alternative<Unsupported>(made)) return {};
  Operation& operation = *std::get<std::unique_ptr<Operation>>(made);
  Device& host = *std::get<Device*>(device);
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation.arguments()) {
    tensors.push_back(host.allocate(spec));
    bound.push_back(tensors.back().get());
  }
  put(host, *bound[0], x);
  operation.bind(bound);
  operation.run(host.stream());
  host.stream().wait();
  Matrix r(x.cols(), x.cols());
  host.get(*bound[1], [&r](std::int64_t first, std::span<const double> in) {
    std::copy(in.begin(), in.end(), r.data() + first);
  });
  return r;
}

/// Largest error of an element over the diagonal of its row.
double error(const Matrix& found, const Matrix& want) {
  double largest = 0;
  for (Eigen::Index i = 0; i < d; ++i)
    for (Eigen::Index j = 0; j < d; ++j) {
      const double of = std::abs(found(i, j) - want(i, j)) / want(i, i);
      largest = of <= largest ? largest : of;  // NaN is the largest
    }
  return largest;
}

/// The forward error of qr is at most a modest multiple of condition times u (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2nd edition, section 19.9). `gram`: error that the factor of
/// the Gram matrix at least has.
void compare(Precision precision, double condition, double gram) {
  const double u = unit_roundoff(storage(precision)), allowed = 50 * condition * u;
  const Matrix want = triangle(condition), x = orthonormal() * want;
  for (const char* backend : {"reference", "blas"})
    for (const int threads : {1, 2}) {
      const Matrix found = factor(backend, x, precision, threads);
      if (found.size() == 0 && std::string(backend) == "blas") continue;  // built without LAPACK
      EXPECT_LE(error(found, want), allowed) << backend << ", " << threads << " threads";
    }
  EXPECT_GT(gram, 20 * allowed) << "the two are far apart";
}

TEST(LinalgConditioning, QrKeepsWhatTheGramMatrixLoses) {
  const Matrix want = triangle(1e6), x = orthonormal() * want;
  const Matrix gram = x.transpose() * x;
  const Matrix cholesky = Eigen::LLT<Eigen::MatrixXd>(gram).matrixU();
  compare(Precision::fp64, 1e6, error(cholesky, want));

  const Eigen::MatrixXf narrow = (orthonormal() * triangle(1e3)).cast<float>();
  const Eigen::MatrixXf of = Eigen::LLT<Eigen::MatrixXf>(narrow.transpose() * narrow).matrixU();
  const double lost = error(of.cast<double>(), triangle(1e3));
  compare(Precision::fp32, 1e3, lost);
}

}  // namespace test_linalg_conditioning
}  // namespace assay
