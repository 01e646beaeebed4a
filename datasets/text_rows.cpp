#include "datasets/text_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"
#include "datasets/file_formats.hpp"

namespace assay {
namespace {

constexpr std::int64_t longest_line = std::int64_t{1} << 26;

}  // namespace

TextRows::TextRows(const DataFile& file, std::int64_t begin, char comment, std::int64_t index_bytes)
    : file_(file), begin_(begin), index_bytes_(index_bytes), comment_(comment) {}

std::vector<std::int64_t> TextRows::count(Share share, const Visitor& seen) const {
  const std::int64_t blocks = (file_.size() - begin_ + index_bytes_ - 1) / index_bytes_,
                     first = share.begin(blocks);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(share.end(blocks) - first));
  for_each_parallel(std::ssize(counts), [&](std::int64_t block) {
    std::int64_t rows = 0;
    visit_block(first + block, 0, [&](const Line& line) {
      ++rows;
      seen({line.text, -1});
    });
    counts[static_cast<std::size_t>(block)] = rows;
  });
  return counts;
}

void TextRows::set_index(const std::vector<std::int64_t>& rows_of_blocks) {
  rows_before_.assign(1, 0);
  for (const std::int64_t rows : rows_of_blocks) rows_before_.push_back(rows_before_.back() + rows);
}

/// The whole lines that begin in the block. A line begins at begin_ and after each newline.
std::vector<char> TextRows::read_lines(std::int64_t block) const {
  const std::int64_t from = begin_ + block * index_bytes_;
  const std::int64_t end = std::min(from + index_bytes_, file_.size());
  const std::int64_t before = block > 0 ? 1 : 0;  // to see whether a line begins at `from`
  std::vector<char> bytes(static_cast<std::size_t>(end - from + before));
  file_.read(from - before, bytes);
  std::size_t start = 0;
  if (before != 0) {
    // A newline in the last byte of the block does not count: the line after it begins in the next
    // block.
    const auto newline = std::find(bytes.begin(), bytes.end() - 1, '\n');
    if (newline == bytes.end() - 1) return {};
    start = static_cast<std::size_t>(newline - bytes.begin()) + 1;
  }
  // Read the rest of the last line, in growing steps.
  std::int64_t at = end, step = 4096;
  while (bytes.back() != '\n' && at < file_.size()) {
    const auto known = static_cast<std::ptrdiff_t>(bytes.size());
    const std::int64_t more = std::min(step, file_.size() - at);
    bytes.resize(bytes.size() + static_cast<std::size_t>(more));
    file_.read(at, {bytes.data() + known, static_cast<std::size_t>(more)});
    at += more;
    step *= 2;
    const auto newline = std::find(bytes.begin() + known, bytes.end(), '\n');
    if (newline != bytes.end()) bytes.erase(newline + 1, bytes.end());
    if (std::ssize(bytes) > index_bytes_ + longest_line)
      refuse(file_,
             fmt::format("a line is longer than {} bytes (at byte {}), so this is not a table "
                         "as text. Give a CSV or libsvm file.",
                         longest_line, from));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(start));
  return bytes;
}

void TextRows::visit_block(std::int64_t block, std::int64_t row, const Visitor& visitor) const {
  const std::vector<char> bytes = read_lines(block);
  std::string_view rest(bytes.data(), bytes.size());
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == rest.npos ? rest.size() : newline + 1);
    if (comment_ != '\0') line = line.substr(0, line.find(comment_));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!strip_blanks(line).empty()) visitor({line, row++});
  }
}

void TextRows::visit(std::int64_t first, std::int64_t count, const Visitor& visitor) const {
  const auto after = std::upper_bound(rows_before_.begin(), rows_before_.end(), first);
  auto block = static_cast<std::int64_t>(after - rows_before_.begin()) - 1;
  std::int64_t next = first;
  for (; next < first + count && block + 1 < std::ssize(rows_before_); ++block)
    visit_block(block, rows_before_[static_cast<std::size_t>(block)], [&](const Line& line) {
      if (line.row != next || next == first + count) return;
      visitor(line);
      ++next;
    });
  if (next < first + count)
    refuse(file_, "rows have disappeared while it was read. Wait until it is complete.");
}

std::string_view strip_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<double> number_in(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return parse_number(text);
}

double finite_number(const DataFile& file, std::int64_t row, std::int64_t column,
                     std::string_view text) {
  const auto number = number_in(text);
  if (number && std::isfinite(*number)) return *number;
  if (text.empty()) refuse(file, row, column, "the value is missing. Fill it in, or drop the row.");
  refuse(file, row, column,
         fmt::format("'{}' is not a {}number (fp64 is computed with). Replace it, or drop the row.",
                     printable_text(text), number ? "finite " : ""));
}

std::string printable_text(std::string_view text) {
  std::string result(text.substr(0, 40));
  for (char& letter : result)
    if (letter < ' ' || letter > '~') letter = '?';
  return result + (text.size() > 40 ? "..." : "");
}

}  // namespace assay
