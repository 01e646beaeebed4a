#include <Eigen/Dense>

#include "analysis/report/parts.hpp"

namespace assay::report {

AlphaBeta fit_alpha_beta(std::span<const double> bytes, std::span<const double> seconds) {
  const auto n = static_cast<Eigen::Index>(bytes.size());
  const Eigen::Map<const Eigen::ArrayXd> size(bytes.data(), n), time(seconds.data(), n);
  // Columns of like scale: bytes span nine decades, and the QR decides a rank by magnitude.
  const double unit = size.maxCoeff();
  Eigen::MatrixXd design(n, 2);
  design.col(0) = (1 / time).matrix();
  design.col(1) = (size / unit / time).matrix();
  const Eigen::VectorXd fitted = design.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(n));
  AlphaBeta fit;
  fit.alpha = fitted(0);
  fit.beta = fitted(1) / unit;
  fit.worst = (design * fitted - Eigen::VectorXd::Ones(n)).cwiseAbs().maxCoeff();
  return fit;
}

}  // namespace assay::report
