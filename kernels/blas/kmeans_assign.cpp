// The nearest centroid of each observation by CBLAS. One matrix product multiplies a block of
// observations with the differences of centroids (kernels/linalg/centroid_differences.hpp). Plain
// loops then sum the observations of each centroid and the squared distances. These are sums of
// squared differences, in which nothing cancels.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/blas/observations.hpp"
#include "kernels/linalg/centroid_differences.hpp"

namespace assay::blas {
namespace {

template <class Int, class Real>
class KmeansAssign final : public BlockedPass {
 public:
  KmeansAssign(const LinalgProblem& problem, int threads, const std::string& name, void* gemm)
      : BlockedPass(problem, threads, make_execution(name, problem, "direct"),
                    problem.shape().k * (problem.shape().d + 1) + 1, problem.shape().k),
        gemm_(reinterpret_cast<GemmFunction<Int, Real>>(gemm)),
        differences_(static_cast<std::size_t>(k_ * d_)),
        starts_(static_cast<std::size_t>(k_)) {}

 private:
  void begin() override {
    const Real *const centroids = data<Real>(1), *const b =
                                                     centroids +
                                                     find_nearest_to_zero(centroids, k_, d_) * d_;
    for (std::int64_t c = 0; c < k_; ++c)
      starts_[static_cast<std::size_t>(c)] =
          subtract_centroid(centroids + c * d_, b, d_, [&](std::ptrdiff_t j, Real difference) {
            differences_[static_cast<std::size_t>(c * d_ + j)] = difference;
          });
  }

  void add(std::int64_t first, std::int64_t rows, double* sums, double* scratch) const override {
    const Real *const x = data<Real>(0) + first * d_, *const centroids = data<Real>(1);
    auto* const products = reinterpret_cast<Real*>(scratch);
    const auto d = static_cast<Int>(d_), k = static_cast<Int>(k_);
    // Read by columns, these arrays are the transposes: [k, rows] of [k, d] and [d, rows].
    gemm_(column_major, transpose, no_transpose, k, static_cast<Int>(rows), d, Real(1),
          differences_.data(), d, x, d, Real(0), products, k);
    double *const counts = sums + k_ * d_, *const inertia = counts + k_;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t nearest = least(products + i * k_);
      data<std::int32_t>(2)[first + i] = static_cast<std::int32_t>(nearest);
      counts[nearest] += 1;
      *inertia += add(x + i * d_, centroids + nearest * d_, sums + nearest * d_);
    }
  }

  std::int64_t least(const Real* products) const {
    std::int64_t best = 0;
    Real score = starts_[0] - products[0];
    for (std::int64_t c = 1; c < k_; ++c) {
      const Real other = starts_[static_cast<std::size_t>(c)] - products[c];
      if (!(other < score)) continue;
      best = c;
      score = other;
    }
    return best;
  }

  /// sum += x; the squared distance of x to the centroid.
  double add(const Real* x, const Real* centroid, double* sum) const {
    double distance = 0;
#pragma omp simd reduction(+ : distance) simdlen(8)
    for (std::int64_t j = 0; j < d_; ++j) {
      const auto value = static_cast<double>(x[j]);
      const double off = value - static_cast<double>(centroid[j]);
      sum[j] += value;
      distance += off * off;
    }
    return distance;
  }

  void end(const double* sums) const override {
    std::copy_n(sums, k_ * d_, data<double>(3));
    std::copy_n(sums + k_ * d_, k_, data<double>(4));
    *data<double>(5) = sums[k_ * d_ + k_];
  }

  GemmFunction<Int, Real> gemm_;
  std::vector<Real> differences_, starts_;
};

}  // namespace

OperationResult make_kmeans_assign(const LinalgProblem& problem, int threads) {
  const std::string name = cblas_name("gemm", problem.precision());
  Result<void*> gemm = cblas(name);
  if (auto* const why = std::get_if<Unsupported>(&gemm)) return std::move(*why);
  return make_own<KmeansAssign>(problem.precision(), problem, threads, name, std::get<void*>(gemm));
}

}  // namespace assay::blas
