// Matrix multiplication by plain loops, accumulated in fp64, rounded once to the type of C.

#include "kernels/gemm/problem.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Columns of C that share each decoded column of op(A).
constexpr std::int64_t columns_at_once = 16;

class PlainGemm final : public PlainOperation {
 public:
  PlainGemm(const GemmProblem& problem, int threads)
      : PlainOperation(problem, threads, "columns"), problem_(problem) {}

  void run(Stream&) override {
    const GemmShape& s = problem_.shape();
    const std::int64_t blocks = (s.n + columns_at_once - 1) / columns_at_once;
#pragma omp parallel for schedule(dynamic, 1) collapse(2) num_threads(threads_)
    for (std::int64_t batch = 0; batch < s.batch; ++batch)
      for (std::int64_t block = 0; block < blocks; ++block)
        columns(batch, block * columns_at_once, std::min(s.n, (block + 1) * columns_at_once));
  }

 private:
  /// Elements of an argument from `first` on, `stride` apart.
  void read_line(std::size_t argument, std::int64_t first, std::int64_t stride,
                 std::span<double> values) const {
    if (stride == 1) return read(argument, first, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      read(argument, first + static_cast<std::int64_t>(i) * stride, values.subspan(i, 1));
  }

  void columns(std::int64_t batch, std::int64_t begin, std::int64_t end) const {
    const GemmShape& s = problem_.shape();
    const auto m = static_cast<std::size_t>(s.m), k = static_cast<std::size_t>(s.k);
    const auto count = static_cast<std::size_t>(end - begin);
    const std::int64_t a = batch * s.a_columns() * s.lda, b = batch * s.b_columns() * s.ldb,
                       c = batch * s.n * s.ldc;
    std::vector<double> sums(count * m), factors(count * k), column(m);
    for (std::size_t j = 0; j < count; ++j) {
      const std::int64_t at = begin + static_cast<std::int64_t>(j);
      read_line(1, b + (s.tb ? at : at * s.ldb), s.tb ? s.ldb : 1,
                std::span(factors).subspan(j * k, k));
    }
    for (std::size_t p = 0; p < k; ++p) {
      const auto at = static_cast<std::int64_t>(p);
      read_line(0, a + (s.ta ? at : at * s.lda), s.ta ? s.lda : 1, column);
      for (std::size_t j = 0; j < count; ++j) {
        const double factor = factors[j * k + p];
        for (std::size_t i = 0; i < m; ++i) sums[j * m + i] += factor * column[i];
      }
    }
    for (std::size_t j = 0; j < count; ++j)
      write_column(c + (begin + static_cast<std::int64_t>(j)) * s.ldc,
                   std::span(sums).subspan(j * m, m), column);
  }

  /// One column of C: alpha times the sums, and beta times what it holds.
  void write_column(std::int64_t first, std::span<double> sums, std::span<double> scratch) const {
    const double alpha = problem_.alpha(), beta = problem_.beta();
    for (double& sum : sums) sum *= alpha;
    if (beta != 0) {
      read(2, first, scratch);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += beta * scratch[i];
    }
    write(2, first, sums);
  }

  GemmProblem problem_;
};

Result<std::unique_ptr<Operation>> make_gemm(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const GemmProblem& gemm = problem_cast<GemmProblem>(problem);
  if (auto why = why_not_direct(options)) return Unsupported{std::move(*why)};
  if (gemm.precision() == Precision::tf32)
    return Unsupported{"reference has no tf32 (it computes in fp64). Use fp32."};
  if (const auto why = why_not_precision(gemm)) return Unsupported{*why};
  return std::make_unique<PlainGemm>(gemm, std::max(1, options.threads));
}

const Maker add_gemm{makers(), problem_kind<GemmProblem>(), &make_gemm, {"direct"}};

}  // namespace
}  // namespace assay::reference
