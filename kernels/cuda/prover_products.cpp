// Products of references with matrices that stay in the memory of the GPU. Our own kernel computes
// them, because the library's products are what is measured. The matrices are stored in fp32, which
// holds them exactly.

#include <algorithm>

#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/device_tables.hpp"
#include "kernels/cuda/kernel_prover.hpp"
#include "kernels/cuda/product_items.hpp"

namespace assay::cuda {
namespace {

/// Part of the free memory that a matrix may take.
constexpr double part_for_matrix = 0.25;
/// About the number of values in the rows of a and c that are on the GPU together.
constexpr std::int64_t numbers_of_rows = std::int64_t{1} << 22;
/// Threads that fill a GPU. The sums are split into so many parts that there are as many threads,
/// but each part has at least `fewest_terms` terms.
constexpr std::int64_t threads_of_product = std::int64_t{1} << 16, fewest_terms = 64;
/// Numbers above which several threads of the host copy faster than one.
constexpr std::int64_t worth_moving_together = 50000;

struct GpuMatrix final : KeptMatrix {
  std::shared_ptr<void> memory;  ///< [rows][columns], then [columns][rows]
  std::int64_t rows = 0, columns = 0;
  float* numbers() const { return static_cast<float*>(memory.get()); }
  float* transposed() const { return numbers() + rows * columns; }
};

TensorSpec of_product() { return plain_tensor("a product", Role::output, DataType::fp64, {1}); }

/// Rows of a as MultiplyRows reads them.
void pack_rows(std::int64_t m, std::int64_t k, const double* a, std::int64_t lda, double* to) {
  const std::int64_t groups = (m + rows_of_product - 1) / rows_of_product;
#pragma omp parallel for collapse(2) if (m * k > worth_moving_together)
  for (std::int64_t group = 0; group < groups; ++group)
    for (std::int64_t term = 0; term < k; ++term)
      for (std::int64_t r = 0; r < rows_of_product; ++r) {
        const std::int64_t row = group * rows_of_product + r;
        to[(group * k + term) * rows_of_product + r] = row < m ? a[row * lda + term] : 0;
      }
}

}  // namespace

std::unique_ptr<KeptMatrix> KernelProver::keep(std::int64_t rows, std::int64_t columns,
                                               const float* numbers) {
  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  if (bytes == 0 || 2 * static_cast<double>(bytes) >
                        part_for_matrix * static_cast<double>(device_.memory_available()))
    return nullptr;
  auto kept = std::make_unique<GpuMatrix>();
  kept->rows = rows;
  kept->columns = columns;
  const auto work = [&] {
    kept->memory = gpu_memory(2 * bytes, "a matrix of a reference");
    device_.copy(kept->numbers(), numbers, bytes);
    const Transpose<float> item{kept->numbers(), kept->transposed(), rows, columns};
    device_.start(item, item.items(rows * columns), of_product());
    device_.stream().wait();
  };
  if (!device_.by_kernels(DataType::fp64, work)) return nullptr;
  return kept;
}

bool KernelProver::multiply(const KeptMatrix& matrix, const KeptProduct& p) {
  const auto& kept = static_cast<const GpuMatrix&>(matrix);
  const std::int64_t k = p.transposed ? p.count : kept.rows, n = p.transposed ? kept.rows : p.count,
                     ldb = p.transposed ? kept.rows : kept.columns,
                     at_once =
                         std::max<std::int64_t>(numbers_of_rows / (k + n) / rows_of_product, 1) *
                         rows_of_product;
  const float* const b =
      p.transposed ? kept.transposed() + p.first * kept.rows : kept.numbers() + p.first;
  return device_.by_kernels(DataType::fp64, [&] {
    for (std::int64_t first = 0; first < p.m; first += at_once) {
      const std::int64_t m = std::min(at_once, p.m - first);
      const double* const product = multiply(m, n, k, p.a + first * p.lda, p.lda, b, ldb);
      double* const c = p.c + first * p.ldc;
#pragma omp parallel for if (m * n > worth_moving_together)
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t j = 0; j < n; ++j)
          c[row * p.ldc + j] = (p.add ? c[row * p.ldc + j] : 0) + product[row * n + j];
    }
  });
}

const double* KernelProver::multiply(std::int64_t m, std::int64_t n, std::int64_t k,
                                     const double* a, std::int64_t lda, const float* b,
                                     std::int64_t ldb) {
  const std::int64_t groups = (m + rows_of_product - 1) / rows_of_product, threads = groups * n,
                     wanted =
                         std::clamp<std::int64_t>(threads_of_product / threads, 1,
                                                  std::min(rows_of_stage, k / fewest_terms + 1)),
                     each = (k + wanted - 1) / wanted, parts = (k + each - 1) / each;
  const std::size_t packed =
                        static_cast<std::size_t>(groups * k * rows_of_product) * sizeof(double),
                    result = static_cast<std::size_t>(m * n) * sizeof(double);
  if (std::max(packed, result) > staging_bytes_) {
    staging_bytes_ = std::max(packed, result);
    staging_ = device_.host_memory(staging_bytes_);
  }
  auto* const staging = static_cast<double*>(staging_.get());
  pack_rows(m, k, a, lda, staging);
  std::byte* const memory = device_.scratch(packed + static_cast<std::size_t>(parts + 1) * result);
  device_.copy(memory, staging, packed);
  auto *const sum = address<double>(memory, packed), *const in_parts = sum + m * n;
  device_.start(MultiplyRows{address<const double>(memory, 0), b, ldb, parts > 1 ? in_parts : sum,
                             m, n, k, each},
                threads * parts, of_product());
  if (parts > 1) device_.start(SumStage<double>{in_parts, sum, parts, m * n}, m * n, of_product());
  device_.copy(staging, sum, result);
  device_.stream().wait();
  return staging;
}

}  // namespace assay::cuda
