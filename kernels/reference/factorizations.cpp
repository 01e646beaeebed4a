// Eigenvalues and triangular factors by Eigen, in fp64.

#include "kernels/reference/linalg.hpp"

#include <Eigen/Dense>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/base/error.hpp"

namespace assay::reference {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class Matrix>
auto elements(Matrix& matrix) {
  return std::span(matrix.data(), static_cast<std::size_t>(matrix.size()));
}

class Factorization : public PlainOperation {
 public:
  Factorization(const LinalgProblem& problem, int threads, const std::string& type)
      : PlainOperation(problem, threads), shape_(problem.shape()) {
    execution_.implementation = fmt::format("Eigen {}.{}.{} {}", EIGEN_WORLD_VERSION,
                                            EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, type);
  }

  void bind(std::span<Tensor* const> tensors) override {
    PlainOperation::bind(tensors);
    Eigen::setNbThreads(threads_);
  }

 protected:
  /// Rows [first, first + rows) of an argument of d columns.
  RowMajor read_rows(std::size_t argument, std::int64_t first, std::int64_t rows) const {
    RowMajor matrix(rows, shape_.d);
    read(argument, first * shape_.d, elements(matrix));
    return matrix;
  }
  template <class Matrix>
  void write_all(std::size_t argument, const Matrix& matrix) const {
    write(argument, 0, elements(matrix));
  }

  LinalgShape shape_;
};

class Eigh final : public Factorization {
 public:
  Eigh(const LinalgProblem& problem, int threads)
      : Factorization(problem, threads, "SelfAdjointEigenSolver") {}

  void run(Stream&) override {
    // It reads only the lower triangle.
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(read_rows(0, 0, shape_.d));
    if (solver.info() != Eigen::Success)
      throw CaseError("Eigen computed no eigenvectors (its iteration did not converge).");
    write_all(1, solver.eigenvalues());
    write_all(2, RowMajor(solver.eigenvectors()));
  }
};

/// The triangle of the rows so far is factorized again together with each further block of rows.
class Qr final : public Factorization {
 public:
  Qr(const LinalgProblem& problem, int threads)
      : Factorization(problem, threads, "HouseholderQR of row blocks") {}

  void run(Stream&) override {
    const std::int64_t d = shape_.d, rows = std::max<std::int64_t>(4 * d, 256);
    Eigen::MatrixXd r = Eigen::MatrixXd::Zero(d, d);
    for (std::int64_t first = 0; first < shape_.n; first += rows) {
      const std::int64_t count = std::min(rows, shape_.n - first);
      Eigen::MatrixXd stack(d + count, d);
      stack << r, read_rows(0, first, count);
      const Eigen::HouseholderQR<Eigen::MatrixXd> factors(stack);
      r = factors.matrixQR().topRows(d).triangularView<Eigen::Upper>();
    }
    for (std::int64_t i = 0; i < d; ++i)
      if (r(i, i) < 0) r.row(i).rightCols(d - i) *= -1;
    write_all(1, RowMajor(r));
  }
};

}  // namespace

std::unique_ptr<Operation> make_eigh(const LinalgProblem& problem, int threads) {
  return std::make_unique<Eigh>(problem, threads);
}

std::unique_ptr<Operation> make_qr(const LinalgProblem& problem, int threads) {
  return std::make_unique<Qr>(problem, threads);
}

}  // namespace assay::reference
