#include "models/pca/benchmark.hpp"

#include "core/base/error.hpp"
#include "models/analytics/rows.hpp"
#include "models/pca/pca.hpp"

namespace assay {
namespace {

class PcaBenchmark final : public AnalyticsBenchmark {
 public:
  std::string name() const override { return "pca"; }

  std::string description() const override {
    return "Principal components of a table, over ranks and threads. Several ranks: mpirun -n "
           "RANKS.";
  }

 protected:
  std::vector<Dimension> own_dimensions() const override {
    Dimension algorithm = dimension::algorithm({"gram", "tsqr"});
    algorithm.defaults = {"gram"};
    algorithm.help =
        "gram: eigenvectors of the covariance matrix (CORAL-2); tsqr: singular values by QR "
        "factorizations of blocks, which keeps small variances";
    return {std::move(algorithm)};
  }

  std::vector<std::string> tables() const override { return {"normal", "spectrum"}; }

  std::unique_ptr<DataTable> table(const std::string& name, const SyntheticSize& size,
                                   const AnalyticsSettings&) const override {
    if (name == "normal") return std::make_unique<NormalTable>(size);
    return std::make_unique<SpectrumTable>(size, planted_condition);
  }

  void complete_own(Settings&, AnalyticsSettings& read) const override {
    if (read.rows < 2)
      throw InputError(
          "principal components need two rows (a variance has n - 1 degrees of "
          "freedom). Give more rows.");
  }

  double work(const AnalyticsSettings& settings, double n, double d) const override {
    if (settings.algorithm == "gram") return n * d * (d + 1) + 9 * d * d * d;
    return 2 * (d + 1) * (d + 1) * (n - (d + 1) / 3) + 12 * d * d * d;
  }
  double passes(const AnalyticsSettings&) const override { return 1; }

  std::vector<LinalgKernel> part_kernels() const override {
    return {LinalgKernel::moments, LinalgKernel::eigh, LinalgKernel::qr};
  }
  std::vector<AnalysisPart> parts(const AnalyticsSettings& settings, std::int64_t rows,
                                  std::int64_t features) const override {
    if (settings.algorithm == "tsqr") return {{make_qr_problem(features), false}};
    return {{make_moments_problem(rows, features, settings.precision)},
            {make_eigh_problem(features), false}};
  }

  /// Counts d x d matrices. gram: the moments and each thread's partial sums; eigh's matrix,
  /// vectors and working copy; those that the method keeps. tsqr: a block and a pair of triangles,
  /// each with its R; those for the singular values.
  AnalysisMemory memory(const AnalyticsSettings& settings, std::int64_t rows,
                        std::int64_t features) const override {
    const auto d = static_cast<double>(features), width = d + 1;
    const double of_pass = bytes_of_pass(rows, features, 6 * d, settings.threads);
    if (settings.algorithm == "gram")
      return {8 * d * d * (4 + settings.sums_of_threads()), 8 * d * d * 4.5 + of_pass};
    const auto stack = static_cast<double>(make_qr_problem(features).shape().n);
    return {8 * width * (stack + 4 * width), 8 * d * d * 8 + of_pass};
  }

  Result<std::unique_ptr<Analysis>> make(const AnalysisCase& analysis) const override {
    return analysis.settings.algorithm == "gram" ? gram_pca(analysis) : tsqr_pca(analysis);
  }

 private:
  /// The condition number of the covariance matrix of `spectrum`: singular values resolve it, but
  /// the Gram matrix in fp64 (1e-12) does not.
  static constexpr double planted_condition = 1e16;
};

}  // namespace

const Benchmark& pca_benchmark() {
  static const PcaBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
