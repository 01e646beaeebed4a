#include "models/rows.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace assay {
namespace {

constexpr std::int64_t block_rows = 512;  // some 1 MB of 250 features

/// Elements of the table in row-major order as a device takes them: from anywhere within a row.
void read_elements(const Table& table, std::int64_t first_row, std::int64_t first,
                   std::span<double> out) {
  const std::int64_t d = table.features();
  const std::int64_t row = first / d, end = (first + std::ssize(out) + d - 1) / d;
  std::vector<double> rows(static_cast<std::size_t>((end - row) * d));
  table.read(first_row + row, rows);
  std::copy_n(rows.begin() + (first - row * d), out.size(), out.begin());
}

}  // namespace

void load_rows(const Table& table, RowRange range, Device& device, Tensor& x, Tensor* y,
               int threads) {
  const auto plain = [&](const Tensor& tensor) {
    return device.name() == "cpu" && tensor.spec().type == DataType::fp64;
  };
  const auto doubles = [](Tensor& tensor) {
    return std::span(static_cast<double*>(tensor.data()),
                     static_cast<std::size_t>(tensor.spec().elements()));
  };
  if (plain(x)) {  // in one pass, and each page first touched by the thread that will use it
    read_parallel(table, range.first, doubles(x), y != nullptr ? doubles(*y) : std::span<double>{},
                  threads);
    return;
  }
  device.put(x, [&](std::int64_t first, std::span<double> out) {
    read_elements(table, range.first, first, out);
  });
  if (y == nullptr) return;
  device.put(*y, [&](std::int64_t first, std::span<double> out) {
    std::vector<double> rows(out.size() * static_cast<std::size_t>(table.features()));
    table.read(range.first + first, rows, out);
  });
}

std::vector<double> sums_over_rows(const Table& table, const RowPass& pass, std::size_t count,
                                   const AddRows& add) {
  const RowRange range = pass.range;
  std::vector<double> all(count + 1);
  all.back() = static_cast<double>(range.count);
  std::exception_ptr failure;
#pragma omp parallel num_threads(pass.threads)
  {
    // For this thread in this region: products of Eigen in `add` start no threads of their own.
    omp_set_num_threads(1);
    std::vector<double> sums(count), labels(pass.with_labels ? block_rows : 0);
    std::vector<double> x(static_cast<std::size_t>(block_rows * table.features()));
#pragma omp for schedule(static)
    for (std::int64_t at = 0; at < range.count; at += block_rows) {
      const std::int64_t rows = std::min(block_rows, range.count - at);
      const std::span<double> block(x.data(), static_cast<std::size_t>(rows * table.features()));
      const std::span<double> block_labels(labels.data(), pass.with_labels ? rows : 0);
      try {
        table.read(range.first + at, block, block_labels);
        if (pass.type == DataType::fp32)
          for (double& value : block) value = static_cast<float>(value);
        add(at, block, block_labels, sums);
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    }
#pragma omp critical
    for (std::size_t i = 0; i < count; ++i) all[i] += sums[i];
  }
  if (failure) std::rethrow_exception(failure);
  return all;
}

}  // namespace assay
