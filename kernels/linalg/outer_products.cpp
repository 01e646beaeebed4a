#include "kernels/linalg/outer_products.hpp"

#include <algorithm>

#include "kernels/oracle/sampling.hpp"

namespace assay::linalg {
namespace {

/// Rows that are held at once, so that a table of any length needs little memory.
constexpr std::int64_t block_rows = 4096;

/// `out[f * block_rows + r]`: column columns[f] of row first + r; 0 if the row does not count.
void read(const Table& table, std::int64_t first, std::int64_t rows,
          const std::vector<std::int64_t>& columns, std::vector<double>& out) {
  // A single value costs about as much as eight adjacent ones.
  const bool whole_rows = static_cast<std::int64_t>(columns.size()) * 8 > table.columns();
#pragma omp parallel
  {
    std::vector<double> row(whole_rows ? static_cast<std::size_t>(table.columns()) : 0);
#pragma omp for
    for (std::int64_t r = 0; r < rows; ++r) {
      const bool counts = table.has(first + r);
      if (counts && whole_rows) table.fill(first + r, row);
      for (std::size_t f = 0; f < columns.size(); ++f)
        out[f * block_rows + static_cast<std::size_t>(r)] =
            !counts      ? 0
            : whole_rows ? row[static_cast<std::size_t>(columns[f])]
                         : table.at(first + r, columns[f]);
    }
  }
}

}  // namespace

std::vector<sums::Terms> outer_products(const Table& table, std::span<const std::int64_t> indices,
                                        bool compensated) {
  const std::int64_t d = table.columns();
  std::vector<std::int64_t> columns;
  for (const std::int64_t index : indices) {
    columns.push_back(index / d);
    columns.push_back(index % d);
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  const auto find_place = [&](std::int64_t column) {
    return static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), column) -
                                    columns.begin());
  };
  std::vector<sums::Sum> sums(indices.size(), sums::Sum(compensated));
  std::vector<double> values(columns.size() * static_cast<std::size_t>(block_rows));
  for (std::int64_t first = 0; first < table.rows(); first += block_rows) {
    const std::int64_t rows = std::min(block_rows, table.rows() - first);
    read(table, first, rows, columns, values);
#pragma omp parallel for schedule(dynamic, 16)
    for (std::size_t i = 0; i < indices.size(); ++i)
      sums[i].add(&values[find_place(indices[i] / d) * block_rows],
                  &values[find_place(indices[i] % d) * block_rows], rows);
  }
  std::vector<sums::Terms> terms;
  for (const sums::Sum& sum : sums) terms.push_back(sum.terms());
  return terms;
}

double sum_outer_products(const Table& table, const std::vector<double>& u,
                          const std::vector<double>& v) {
  double total = 0;
#pragma omp parallel
  {
    std::vector<double> row(static_cast<std::size_t>(table.columns()));
#pragma omp for reduction(+ : total)
    for (std::int64_t r = 0; r < table.rows(); ++r) {
      if (!table.has(r)) continue;
      table.fill(r, row);
      double left = 0, right = 0;
      for (std::size_t j = 0; j < row.size(); ++j) {
        left += row[j] * u[j];
        right += row[j] * v[j];
      }
      total += left * right;
    }
  }
  return total;
}

std::vector<std::int64_t> outer_sample(std::int64_t d, std::int64_t n, double budget,
                                       std::uint64_t seed) {
  sampling::Marks marks(d);
  for (const std::int64_t size : {4, 6, 8, 16, 24, 32, 48, 64, 128, 256}) marks.add_blocks(size);
  const std::vector<std::int64_t> at = marks.take();
  return sampling::choose_elements({d, d}, {at, at}, static_cast<double>(n), budget, seed);
}

}  // namespace assay::linalg
