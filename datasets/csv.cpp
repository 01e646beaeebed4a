// CSV files: a header that may be quoted, then numbers.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "core/base/numbers.hpp"
#include "datasets/file_formats.hpp"
#include "datasets/text_rows.hpp"

namespace assay {
namespace {

struct Field {
  std::string text;
  bool quoted = false;
};

/// A record: RFC 4180, section 2, where a quoted field may hold commas, newlines
/// and (doubled) quotes.
struct Record {
  std::vector<Field> fields;
  std::int64_t end = 0;  ///< beginning of the next line
  bool blank() const { return fields.size() == 1 && !fields[0].quoted && fields[0].text.empty(); }
};

/// Reads the file piece by piece.
class Characters {
 public:
  Characters(const DataFile& file, std::int64_t at) : file_(file), next_(at) {}
  std::optional<char> peek() {
    if (at_ == piece_.size()) {
      if (next_ == file_.size()) return std::nullopt;
      piece_.resize(
          static_cast<std::size_t>(std::min<std::int64_t>(1 << 16, file_.size() - next_)));
      file_.read(next_, piece_);
      next_ += std::ssize(piece_);
      at_ = 0;
    }
    return piece_[at_];
  }
  std::optional<char> take() {
    const auto letter = peek();
    if (letter) ++at_;
    return letter;
  }
  std::int64_t position() const {
    return next_ - (std::ssize(piece_) - static_cast<std::int64_t>(at_));
  }

 private:
  const DataFile& file_;
  std::int64_t next_;
  std::string piece_;
  std::size_t at_ = 0;
};

Record next_record(const DataFile& file, Characters& characters) {
  constexpr std::int64_t longest = 1 << 26;
  const std::int64_t begin = characters.position();
  Record record{{Field()}, 0};
  bool inside = false;
  for (;;) {
    const auto letter = characters.take();
    if (!letter || (*letter == '\n' && !inside)) break;
    if (std::iscntrl(static_cast<unsigned char>(*letter)) && *letter != '\t' && *letter != '\r' &&
        *letter != '\n')
      refuse(file,
             fmt::format("its first line has a byte {}, so this is not a CSV file in ASCII or "
                         "UTF-8. Give a table of numbers between commas.",
                         static_cast<int>(*letter)));
    if (characters.position() - begin > longest)
      refuse(file, fmt::format("its first row is longer than {} bytes, so this is not a CSV file. "
                               "Give a table of numbers between commas.",
                               longest));
    Field& field = record.fields.back();
    if (inside) {
      if (*letter != '"') {
        field.text += *letter;
      } else if (characters.peek() == '"') {
        field.text += *characters.take();
      } else {
        inside = false;
      }
    } else if (*letter == '"' && !field.quoted && strip_blanks(field.text).empty()) {
      field = {"", true};
      inside = true;
    } else if (*letter == ',') {
      record.fields.emplace_back();
    } else if (!field.quoted || (*letter != ' ' && *letter != '\r')) {
      field.text += *letter;
    }
  }
  if (inside)
    refuse(file, "a quoted name in its first line does not end. Close the quotation marks.");
  for (Field& field : record.fields)
    if (!field.quoted) field.text = strip_blanks(field.text);
  record.end = characters.position();
  return record;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

bool names_labels(const Field& field) {
  const std::string name = lower(field.text);
  return name == "label" || name == "target" || name == "class";
}

/// Text that marks a missing value is not a name, so a first row of such values is not a header.
bool is_name(const Field& field) {
  if (field.quoted) return true;
  const std::string text = lower(field.text);
  return !number_in(text) && text != "" && text != "na" && text != "n/a" && text != "null" &&
         text != "none" && text != "?" && text != "-";
}

/// True if the names are the column numbers from 0, as pandas writes a table without names.
bool numbers_columns(const std::vector<Field>& fields) {
  for (std::size_t column = 0; column < fields.size(); ++column)
    if (fields[column].text != std::to_string(column)) return false;
  return true;
}

/// A header has names and no numbers, unless one name is that of labels. The column numbers are
/// also a header.
bool is_header(const std::vector<Field>& fields) {
  if (numbers_columns(fields)) return true;
  const bool names = std::any_of(fields.begin(), fields.end(), is_name);
  const bool numbers = std::any_of(fields.begin(), fields.end(), [](const Field& field) {
    return !field.quoted && number_in(field.text);
  });
  return names && (!numbers || std::any_of(fields.begin(), fields.end(), names_labels));
}

/// True if a first row that looks like column numbers is data. One column of whole numbers often
/// begins with 0. Two columns are ambiguous: refused.
bool begins_data(const DataFile& file, const std::vector<Field>& first,
                 const std::vector<Field>& second) {
  if (first.size() > 2 || first[0].quoted || !numbers_columns(first)) return false;
  for (const Field& field : second)
    if (!parse_number<std::int64_t>(field.text)) return false;
  if (first.size() == 1) return true;
  refuse(
      file,
      "its first row may be data or the numbers of the columns. Put a row of names before it (x, "
      "y), or write the first number of the data as 0.0.");
}

class CsvTable final : public FileTable {
 public:
  CsvTable(std::unique_ptr<DataFile> data, const DataTableOptions& options)
      : FileTable(std::move(data)) {
    std::int64_t begin = starts_with_byte_order_mark() ? 3 : 0;
    Characters characters(file(), begin);
    Record record = next_record(file(), characters);
    while (record.blank() && record.end < file().size()) {
      begin = record.end;
      record = next_record(file(), characters);
    }
    columns_ = std::ssize(record.fields);
    if (is_header(record.fields) &&
        !begins_data(file(), record.fields, next_record(file(), characters).fields)) {
      begin = record.end;
      find_labels(record.fields);
    }
    rows_.emplace(file(), begin, '\0', options.index_bytes);
  }
  std::int64_t rows() const override { return rows_->rows(); }
  std::int64_t features() const override { return columns_ - (has_labels() ? 1 : 0); }
  bool has_labels() const override { return label_column_ >= 0; }

 private:
  std::vector<std::int64_t> index_share(Share share) const override {
    return rows_->count(share, [](const TextRows::Line&) {});
  }

  void set_index(const std::vector<std::vector<std::int64_t>>& of_shares) override {
    std::vector<std::int64_t> counts;
    for (const auto& share : of_shares) counts.insert(counts.end(), share.begin(), share.end());
    rows_->set_index(counts);
    check_size(file(), rows_->rows(), features());
  }

  bool starts_with_byte_order_mark() const {
    if (file().size() < 3) return false;
    char bytes[3];
    file().read(0, bytes);
    return std::string_view(bytes, 3) == "\xEF\xBB\xBF";
  }

  void find_labels(const std::vector<Field>& names) {
    for (std::int64_t column = 0; column < columns_; ++column) {
      if (!names_labels(names[static_cast<std::size_t>(column)])) continue;
      if (label_column_ >= 0)
        refuse(file(), fmt::format("columns {} and {} are both named as labels are (label, target "
                                   "or class). Rename one of them.",
                                   label_column_ + 1, column + 1));
      label_column_ = column;
    }
  }

  void read_unchecked(std::int64_t first, std::int64_t count, double* x,
                      double* labels) const override {
    rows_->visit(first, count, [&](const TextRows::Line& line) {
      read_row(line, x + (line.row - first) * features(),
               labels == nullptr ? nullptr : labels + (line.row - first));
    });
  }

  void read_row(const TextRows::Line& line, double* x, double* label) const {
    const std::int64_t columns = std::count(line.text.begin(), line.text.end(), ',') + 1;
    if (columns != columns_)
      refuse(file(), line.row, std::min(columns, columns_),
             fmt::format("the row has {} columns, the first line has {}. Correct the row.", columns,
                         columns_));
    std::string_view rest = line.text;
    for (std::int64_t column = 0; column < columns_; ++column) {
      const std::size_t comma = rest.find(',');
      const double number =
          finite_number(file(), line.row, column, strip_blanks(rest.substr(0, comma)));
      rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
      if (column != label_column_)
        *x++ = number;
      else if (label != nullptr)
        *label = number;
    }
  }

  std::int64_t columns_ = 0, label_column_ = -1;
  std::optional<TextRows> rows_;
};

}  // namespace

std::unique_ptr<FileTable> open_csv(std::unique_ptr<DataFile> file,
                                    const DataTableOptions& options) {
  return std::make_unique<CsvTable>(std::move(file), options);
}

}  // namespace assay
