#include "models/analytics/rows.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>

#include "core/measure/rank_failure.hpp"

namespace assay {
namespace {

/// The size of a block: some 1 MB of 250 features, and not much more if rows are long.
constexpr std::int64_t most_rows = 512, most_elements = 1 << 20;

std::int64_t rows_of_block(std::int64_t rows, std::int64_t features) {
  return std::clamp<std::int64_t>(most_elements / features, 1,
                                  std::clamp<std::int64_t>(rows, 1, most_rows));
}

/// Reads elements of the table in row-major order for a device, which may begin anywhere in a row.
void read_elements(const DataTable& table, std::int64_t first_row, std::int64_t first,
                   std::span<double> out) {
  const std::int64_t d = table.features();
  const std::int64_t row = first / d, end = (first + std::ssize(out) + d - 1) / d;
  std::vector<double> rows(static_cast<std::size_t>((end - row) * d));
  table.read(first_row + row, rows);
  std::copy_n(rows.begin() + (first - row * d), out.size(), out.begin());
}

/// Reads the labels of consecutive rows block by block; their features are read with them.
void read_labels(const DataTable& table, std::int64_t first_row, std::span<double> out) {
  const std::int64_t d = table.features(), all = std::ssize(out), step = rows_of_block(all, d);
  std::vector<double> x;
  for (std::int64_t at = 0; at < all; at += step) {
    const std::int64_t rows = std::min(step, all - at);
    x.resize(static_cast<std::size_t>(rows * d));
    table.read(first_row + at, x,
               out.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(rows)));
  }
}

void load_own(const DataTable& table, RowRange range, Device& device, Tensor& x, Tensor* y,
              int threads) {
  const auto plain = [&](const Tensor& tensor) {
    return device.name() == "cpu" && tensor.spec().type == DataType::fp64;
  };
  const auto doubles = [](Tensor& tensor) {
    return std::span(static_cast<double*>(tensor.data()),
                     static_cast<std::size_t>(tensor.spec().elements()));
  };
  if (plain(x)) {  // in one pass, in which the later user of each page touches it first
    read_parallel(table, range.first, doubles(x), y != nullptr ? doubles(*y) : std::span<double>{},
                  threads);
    return;
  }
  device.put(x, [&](std::int64_t first, std::span<double> out) {
    read_elements(table, range.first, first, out);
  });
  if (y == nullptr) return;
  device.put(*y, [&](std::int64_t first, std::span<double> out) {
    read_labels(table, range.first + first, out);
  });
}

}  // namespace

void load_rows(const DataTable& table, RowRange range, Device& device, Tensor& x, Tensor* y,
               int threads, Communicator& ranks) {
  throw_on_all(ranks, [&] { load_own(table, range, device, x, y, threads); });
}

double bytes_of_pass(std::int64_t rows, std::int64_t features, double count, int threads) {
  const double block = static_cast<double>(rows_of_block(rows, features)) *
                       static_cast<double>(features + 1);  // with the labels
  return 8 * (threads * (2 * block + 2 * count) + count);
}

std::vector<double> sums_over_rows(const DataTable& table, const RowPass& pass, std::size_t count,
                                   const AddRows& add) {
  const RowRange range = pass.range;
  const std::int64_t block_rows = rows_of_block(range.count, table.features());
  std::vector<double> all(count + 1);
  std::exception_ptr failure;
#pragma omp parallel num_threads(pass.threads)
  {
    // Valid for this thread in this region, so that products of Eigen in `add` start no threads.
    omp_set_num_threads(1);
    std::vector<double> sums, part, x, labels;
    std::int64_t read = 0;
#pragma omp for schedule(static)
    for (std::int64_t at = 0; at < range.count; at += block_rows) {
      const std::int64_t rows = std::min(block_rows, range.count - at);
      try {  // also for std::bad_alloc: no exception may leave the parallel region
        sums.resize(count);
        x.resize(static_cast<std::size_t>(rows * table.features()));
        labels.resize(pass.with_labels ? static_cast<std::size_t>(rows) : 0);
        table.read(range.first + at, x, labels);
        if (pass.type == DataType::fp32)
          for (double& value : x) value = static_cast<float>(value);
        // Sums each block separately, so that the roundings of many equal terms, which have the
        // same sign, stay small.
        part.assign(count, 0);
        add(at, x, labels, part);
        for (std::size_t i = 0; i < count; ++i) sums[i] += part[i];
        read += rows;
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    }
#pragma omp critical
    {
      // A thread without rows has no sums.
      for (std::size_t i = 0; i < sums.size(); ++i) all[i] += sums[i];
      all.back() += static_cast<double>(read);
    }
  }
  if (failure) std::rethrow_exception(failure);
  return all;
}

std::vector<double> sums_over_ranks(const DataTable& table, const RowPass& mine, std::size_t count,
                                    const AddRows& add, RankCalls& ranks) {
  std::vector<double> all;
  throw_on_all(ranks.communicator(), [&] { all = sums_over_rows(table, mine, count, add); });
  ranks.sum(all);
  return all;
}

}  // namespace assay
