#include "datasets/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <string_view>

#include "datasets/file_formats.hpp"
#include "datasets/text_rows.hpp"

namespace assay {
namespace {

constexpr std::int64_t longest_header = 1 << 20;  // numpy itself reads 10000 bytes at most

/// Reads the Python dictionary of a header: {'descr': '<f8', 'fortran_order': False, 'shape': (3,
/// 4), }
class Dictionary {
 public:
  Dictionary(const DataFile& file, std::string_view text) : file_(file), rest_(text) {}

  void read(NpyHeader& header) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      bool& known = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if (known || (&known == &shape && key != "shape")) damaged();
      known = true;
      if (key == "descr")
        read_type(header);
      else if (key == "fortran_order")
        header.fortran_order = boolean();
      else
        header.shape = numbers();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!descr || !order || !shape || !rest_.empty()) damaged();
  }

 private:
  [[noreturn]] void damaged() const {
    refuse(file_,
           "its NPY header is damaged (no descr, fortran_order and shape alone, as numpy.save "
           "writes them). Save the array again.");
  }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }
  bool take(char letter) {
    skip_blanks();
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char letter) {
    if (!take(letter)) damaged();
  }
  std::string_view quoted() {
    skip_blanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) damaged();
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == rest_.npos) damaged();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    skip_blanks();
    const bool yes = rest_.starts_with("True");
    if (!yes && !rest_.starts_with("False")) damaged();
    rest_.remove_prefix(yes ? 4 : 5);
    return yes;
  }
  std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::int64_t value = -1;
      const auto [at, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc() || value < 0) damaged();
      rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()));
      values.push_back(value);
      if (!take(',')) {
        if (values.size() == 1) damaged();  // "(3)" is not a tuple
        expect(')');
        break;
      }
    }
    return values;
  }
  void read_type(NpyHeader& header) {
    skip_blanks();
    if (rest_.starts_with('['))
      refuse(file_,
             "its elements are records (a table has one type of number). Save a plain "
             "array.");
    const std::string_view type = quoted();
    const std::string_view types[] = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"};
    if (type.size() != 3 || std::string_view("<>|=").find(type[0]) == std::string_view::npos ||
        std::find(std::begin(types), std::end(types), type.substr(1)) == std::end(types))
      refuse(file_, fmt::format("elements of type '{}' are not read (f4, f8, i1 to i8, u1 to u8 "
                                "are). Convert the array, for example by astype('f8').",
                                printable_text(type)));
    header.kind = type[1];
    header.item_size = type[2] - '0';
    if (type[0] == '|' && header.item_size > 1) damaged();
    const char own = std::endian::native == std::endian::little ? '<' : '>';
    header.swapped = header.item_size > 1 && type[0] != own && type[0] != '=';
  }

  const DataFile& file_;
  std::string_view rest_;
};

void check_data_size(const DataFile& file, const NpyHeader& header) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = header.item_size;
  for (const std::int64_t extent : header.shape) {
    if (extent > 0 && bytes > most / extent)
      refuse(file, "its NPY header promises more bytes than 64 bits count. Save the array again.");
    bytes *= extent;
  }
  const std::int64_t present = file.size() - header.data_offset;
  if (bytes != present)
    refuse(file, fmt::format("its NPY header promises {} bytes of data, the file has {} (it was "
                             "cut, or more was appended). Save the array again.",
                             bytes, present));
}

}  // namespace

NpyHeader read_npy_header(const DataFile& file) {
  const auto cut = [&] {
    refuse(file, fmt::format("it ends within its NPY header ({} bytes). Save the array again.",
                             file.size()));
  };
  char fixed[12] = {};
  if (file.size() < std::ssize(fixed)) cut();
  file.read(0, fixed);
  const auto byte = [&](std::size_t i) -> std::int64_t {
    return static_cast<unsigned char>(fixed[i]);
  };
  if (std::string_view(fixed, npy_magic.size()) != npy_magic)
    refuse(file, "it does not begin as NPY files do. Save the array by numpy.save.");
  const std::int64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    refuse(file, fmt::format("its NPY version is {}.{} (1.0, 2.0 and 3.0 are read). Save the array "
                             "again.",
                             version, byte(7)));
  const std::int64_t start = version == 1 ? 10 : 12;
  const std::int64_t length =
      byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > file.size() - start) cut();
  if (length > longest_header)
    refuse(file, fmt::format("its NPY header has {} bytes ({} at most are read). Save the array "
                             "again.",
                             length, longest_header));
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(start, text);
  NpyHeader header;
  header.data_offset = start + length;
  Dictionary(file, text).read(header);
  check_data_size(file, header);
  return header;
}

}  // namespace assay
