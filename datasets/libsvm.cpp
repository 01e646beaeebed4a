// libsvm files: "label index:value ..."; omitted values are 0.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "core/base/numbers.hpp"
#include "datasets/file_formats.hpp"
#include "datasets/text_rows.hpp"

namespace assay {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::int64_t most_features = std::numeric_limits<std::int32_t>::max();  // as in LIBLINEAR

/// Takes the next word from `rest`; "" at the end.
std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(blanks), rest.size());
  const std::size_t end = std::min(rest.find_first_of(blanks, begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

/// The index of the row's last word, which is the largest; 0 where there is none.
std::int64_t last_index(std::string_view row) {
  const std::string_view text = strip_blanks(row);
  const std::string_view word = text.substr(std::min(text.find_last_of(blanks) + 1, text.size()));
  if (word.size() == text.size()) return 0;  // the label alone
  return parse_number<std::int64_t>(word.substr(0, word.find(':'))).value_or(0);
}

class LibsvmTable final : public FileTable {
 public:
  LibsvmTable(std::unique_ptr<DataFile> data, const DataTableOptions& options)
      : FileTable(std::move(data)), rows_(file(), 0, '#', options.index_bytes) {}
  std::int64_t rows() const override { return rows_.rows(); }
  std::int64_t features() const override { return features_; }
  bool has_labels() const override { return true; }

 private:
  /// The largest index, then the rows of each block.
  std::vector<std::int64_t> index_share(Share share) const override {
    std::atomic<std::int64_t> largest = 0;
    std::vector<std::int64_t> largest_of_parts =
        rows_.count(share, [&](const TextRows::Line& line) {
          const std::int64_t index = last_index(line.text);
          std::int64_t known = largest;
          while (index > known && !largest.compare_exchange_weak(known, index)) {
          }
        });
    largest_of_parts.insert(largest_of_parts.begin(), largest);
    return largest_of_parts;
  }

  void set_index(const std::vector<std::vector<std::int64_t>>& of_shares) override {
    std::vector<std::int64_t> counts;
    for (const auto& share : of_shares) {
      features_ = std::max(features_, share.at(0));
      counts.insert(counts.end(), share.begin() + 1, share.end());
    }
    rows_.set_index(counts);
    if (features_ > most_features)
      refuse(file(), fmt::format("its largest index is {} (at most {} features are read). Number "
                                 "the features from 1.",
                                 features_, most_features));
    check_size(file(), rows_.rows(), features_);
  }

  void read_unchecked(std::int64_t first, std::int64_t count, double* x,
                      double* labels) const override {
    std::fill_n(x, count * features_, 0);
    rows_.visit(first, count, [&](const TextRows::Line& line) {
      const double label = read_row(line, x + (line.row - first) * features_);
      if (labels != nullptr) labels[line.row - first] = label;
    });
  }

  /// Returns the label.
  double read_row(const TextRows::Line& line, double* x) const {
    std::string_view rest = line.text;
    const double label = finite_number(file(), line.row, 0, next_word(rest));
    std::int64_t before = 0, column = 1;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest), ++column) {
      const std::size_t colon = word.find(':');
      const auto index = parse_number<std::int64_t>(word.substr(0, colon));
      if (colon == word.npos || !index)
        refuse(file(), line.row, column,
               fmt::format("'{}' is not an index and a value with a colon between them. Correct "
                           "it.",
                           printable_text(word)));
      if (*index < 1)
        refuse(file(), line.row, column,
               fmt::format("the index {} is below 1. Number the features from 1.", *index));
      if (*index <= before)
        refuse(file(), line.row, column,
               fmt::format("the index {} does not ascend (it follows {}). Sort the row by index.",
                           *index, before));
      // The index pass took the last index of each row as its largest. So the file has changed, or
      // the indices of the row do not ascend.
      if (*index > features_)
        refuse(file(), line.row, column,
               fmt::format("the index {} is larger than the last one of any row ({}). Sort the row "
                           "by index.",
                           *index, features_));
      x[*index - 1] = finite_number(file(), line.row, column, word.substr(colon + 1));
      before = *index;
    }
    return label;
  }

  std::int64_t features_ = 0;
  TextRows rows_;
};

}  // namespace

std::unique_ptr<FileTable> open_libsvm(std::unique_ptr<DataFile> file,
                                       const DataTableOptions& options) {
  return std::make_unique<LibsvmTable>(std::move(file), options);
}

}  // namespace assay
