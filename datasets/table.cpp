#include "datasets/table.hpp"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <vector>

namespace assay {

void DataTable::read(std::int64_t first, std::span<double> x, std::span<double> labels) const {
  const std::int64_t d = features(), size = std::ssize(x), count = size / d;
  if (size % d != 0) throw std::invalid_argument("the memory for x is not a whole number of rows");
  if (!labels.empty() && (!has_labels() || std::ssize(labels) != count))
    throw std::invalid_argument("the memory for labels is not that of the rows");
  if (first < 0 || first > rows() || count > rows() - first)
    throw std::out_of_range("rows beyond the end of the table");
  if (count > 0) read_rows(first, count, x.data(), labels.empty() ? nullptr : labels.data());
}

void read_parallel(const DataTable& table, std::int64_t first, std::span<double> x,
                   std::span<double> labels, int threads) {
  const std::int64_t d = table.features(), count = std::ssize(x) / d;
  if (threads <= 1 || count < 2 || std::ssize(x) % d != 0) return table.read(first, x, labels);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t team = omp_get_num_threads(), own = omp_get_thread_num();
    // Rows are divided as by a static schedule: the first count % team threads have one row more.
    const std::int64_t each = count / team, more = count % team;
    const std::int64_t begin = own * each + std::min(own, more);
    const std::int64_t mine = each + (own < more ? 1 : 0);
    try {
      const auto part = [&](std::span<double> all, std::int64_t width) {
        return all.subspan(static_cast<std::size_t>(begin * width),
                           static_cast<std::size_t>(mine * width));
      };
      table.read(first + begin, part(x, d), labels.empty() ? labels : part(labels, 1));
    } catch (...) {
      errors[static_cast<std::size_t>(own)] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace assay
