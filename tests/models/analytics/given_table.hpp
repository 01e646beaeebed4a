#pragma once
// A table without labels whose values a function of row and column gives.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "datasets/table.hpp"

namespace assay::fixture {

class GivenTable final : public DataTable {
 public:
  using Value = std::function<double(std::int64_t row, std::int64_t column)>;
  GivenTable(std::int64_t rows, std::int64_t features, Value value)
      : rows_(rows), features_(features), value_(std::move(value)) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t features() const override { return features_; }
  bool has_labels() const override { return false; }
  std::string canonical() const override { return "given"; }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double*) const override {
    for (std::int64_t i = 0; i < count * features_; ++i)
      x[i] = value_(first + i / features_, i % features_);
  }
  std::int64_t rows_, features_;
  Value value_;
};

}  // namespace assay::fixture
