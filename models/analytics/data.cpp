#include "models/analytics/data.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <system_error>

#include "core/base/error.hpp"
#include "datasets/file_table.hpp"

namespace assay {
namespace {

/// Tables by two names: the value of --data, and the canonical name.
std::map<std::string, std::shared_ptr<DataTable>>& open_tables() {
  static std::map<std::string, std::shared_ptr<DataTable>> tables;
  return tables;
}

bool is_there(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  return std::filesystem::exists(status) && !std::filesystem::is_directory(status);
}

/// "x.npy+y.npy": a table, and the labels of an NPY file. File names may contain a plus: the whole
/// text may be one file; else the table is the shortest part before a plus that is a file.
std::shared_ptr<DataTable> open(const std::string& data, Communicator* ranks) {
  DataTableOptions options;
  options.ranks = ranks;
  if (is_there(data)) return open_table(data, options);
  for (std::size_t plus = data.find('+'); plus != data.npos; plus = data.find('+', plus + 1)) {
    if (!is_there(data.substr(0, plus))) continue;
    options.labels = data.substr(plus + 1);
    return open_table(data.substr(0, plus), options);
  }
  return open_table(data, options);  // throws the reason
}

class ChangedTable final : public DataTable {
 public:
  ChangedTable(std::shared_ptr<const DataTable> table, ChangeRows change)
      : table_(std::move(table)), change_(std::move(change)) {}
  std::int64_t rows() const override { return table_->rows(); }
  std::int64_t features() const override { return table_->features(); }
  bool has_labels() const override { return table_->has_labels(); }
  std::string canonical() const override { return table_->canonical(); }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const override {
    const auto rows = static_cast<std::size_t>(count);
    const std::span<double> values(x, rows * static_cast<std::size_t>(features())),
        arguments(labels, labels == nullptr ? 0 : rows);
    table_->read(first, values, arguments);
    change_(first, values, arguments);
  }

  std::shared_ptr<const DataTable> table_;
  ChangeRows change_;
};

}  // namespace

bool is_file(const std::string& data, const std::vector<std::string>& tables) {
  return std::find(tables.begin(), tables.end(), data) == tables.end();
}

const DataTable& file_table(const std::string& data, bool needs_labels, Communicator* ranks) {
  std::shared_ptr<DataTable>& table = open_tables()[data];
  if (table == nullptr) table = open(data, ranks);
  if (needs_labels && !table->has_labels())
    throw InputError(data +
                     ": has no labels (a CSV file has them in a column named label, target or "
                     "class, an NPY file in a second file: x.npy+y.npy). Give labels.");
  const std::shared_ptr<DataTable> known = table;
  return *open_tables().emplace(known->canonical(), known).first->second;
}

std::unique_ptr<DataTable> change_table(std::shared_ptr<const DataTable> table, ChangeRows change) {
  return std::make_unique<ChangedTable>(std::move(table), std::move(change));
}

std::unique_ptr<DataTable> scale_file_table(const std::string& canonical, std::uint64_t seed) {
  const std::shared_ptr<DataTable> table = open_tables().at(canonical);
  std::vector<double> factors(static_cast<std::size_t>(table->features()), 1.0);
  std::mt19937_64 random(seed);
  if (seed != 0)
    for (double& factor : factors) factor = std::ldexp(1.0, static_cast<int>(random() % 3) - 1);
  return change_table(table, [factors](std::int64_t, std::span<double> x, std::span<double>) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= factors[i % factors.size()];
  });
}

std::unique_ptr<DataTable> centre_table(std::unique_ptr<DataTable> table) {
  constexpr std::int64_t most_rows = 256;
  const auto rows = static_cast<std::size_t>(std::min(table->rows(), most_rows));
  std::vector<double> medians(static_cast<std::size_t>(table->features()));
  std::vector<double> head(rows * medians.size()), column(rows);
  table->read(0, head);
  for (std::size_t j = 0; j < medians.size(); ++j) {
    for (std::size_t i = 0; i < rows; ++i) column[i] = head[i * medians.size() + j];
    std::ranges::nth_element(column, column.begin() + std::ssize(column) / 2);
    medians[j] = column[rows / 2];
  }
  return change_table(std::move(table),
                      [medians](std::int64_t, std::span<double> x, std::span<double>) {
                        for (std::size_t i = 0; i < x.size(); ++i)
                          x[i] -= medians[i % medians.size()];
                      });
}

}  // namespace assay
