// Eigenvalues and triangular factors by Eigen, in fp64.

#include "kernels/reference/linalg.hpp"

#include <Eigen/Dense>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"

namespace assay::reference {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class Factorization : public Operation {
 public:
  Factorization(const LinalgProblem& problem, int threads, const std::string& type)
      : shape_(problem.shape()),
        precision_(problem.precision()),
        arguments_(problem.tensors()),
        threads_(threads),
        type_(type) {}

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      data_[i] = static_cast<std::byte*>(tensors[i]->data());
    Eigen::setNbThreads(threads_);
  }

  Executed executed() const override {
    Executed out;
    out.algorithm = "direct";
    out.implementation = fmt::format("Eigen {}.{}.{} {}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                                     EIGEN_MINOR_VERSION, type_);
    out.storage = std::string(name(precision_));
    out.compute = out.accumulate = std::string(name(DataType::fp64));
    out.layout = "rows";
    out.evidence = "library";
    return out;
  }

 protected:
  /// Rows [first, first + rows) of an argument of d columns.
  RowMajor read(std::size_t argument, std::int64_t first, std::int64_t rows) const {
    RowMajor matrix(rows, shape_.d);
    const DataType type = arguments_[argument].type;
    decode(type, data_[argument] + static_cast<std::size_t>(first * shape_.d) * size_of(type),
           std::span(matrix.data(), static_cast<std::size_t>(matrix.size())));
    return matrix;
  }
  template <class Matrix>
  void write(std::size_t argument, const Matrix& matrix) const {
    encode(arguments_[argument].type,
           std::span(matrix.data(), static_cast<std::size_t>(matrix.size())), data_[argument]);
  }

  LinalgShape shape_;

 private:
  Precision precision_;
  std::vector<TensorSpec> arguments_;
  int threads_;
  std::string type_;
  std::byte* data_[3] = {};
};

class Eigh final : public Factorization {
 public:
  Eigh(const LinalgProblem& problem, int threads)
      : Factorization(problem, threads, "SelfAdjointEigenSolver") {}

  void run(Stream&) override {
    // It reads the lower triangle alone.
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(read(0, 0, shape_.d));
    if (solver.info() != Eigen::Success)
      throw CaseError("Eigen computed no eigenvectors (its iteration did not converge).");
    write(1, solver.eigenvalues());
    write(2, RowMajor(solver.eigenvectors()));
  }
};

/// The triangle of the rows so far is factorized again with each further block of rows.
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
      stack << r, read(0, first, count);
      const Eigen::HouseholderQR<Eigen::MatrixXd> factors(stack);
      r = factors.matrixQR().topRows(d).triangularView<Eigen::Upper>();
    }
    for (std::int64_t i = 0; i < d; ++i)
      if (r(i, i) < 0) r.row(i).rightCols(d - i) *= -1;
    write(1, RowMajor(r));
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
