#include "core/result/row_index.hpp"

#include <string_view>

namespace assay {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// Takes the text byte by byte, in blocks of any size.
class Scanner {
 public:
  bool take(std::string_view block) {
    for (std::size_t i = 0; i < block.size(); ++i, ++at_) {
      const char c = block[i];
      if (place_ == Place::row)
        in_row(c);
      else if (!outside_rows(c))
        return false;
    }
    return true;
  }

  std::optional<RowIndex> result() {
    if (place_ != Place::end || !has_rows_) return std::nullopt;
    return std::move(index_);
  }

 private:
  enum class Place { start, members, after_name, before_list, between, row, end };

  void in_row(char c) {
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 2) {
      index_.rows.back().length = at_ + 1 - index_.rows.back().offset;
      place_ = Place::between;
      wants_value_ = false;
      after_value_ = true;
    }
  }

  bool outside_rows(char c) {
    switch (place_) {
      case Place::start:
        if (c == '{') {
          place_ = Place::members;
          depth_ = 1;
        }
        index_.head += c;
        return c == '{' || is_space(c);
      case Place::after_name:
        index_.head += c;
        if (is_space(c)) return true;
        place_ = c == ':' ? Place::before_list : Place::members;
        return c == ':' ? !has_rows_ : member(c);
      case Place::before_list:
        index_.head += c;
        if (is_space(c)) return true;
        index_.head += "0]";
        has_rows_ = true;
        after_value_ = wants_value_ = false;
        depth_ = 2;
        place_ = Place::between;
        return c == '[';
      case Place::between:
        return between(c);
      case Place::end:
        return is_space(c);
      default:
        index_.head += c;
        return member(c);
    }
  }

  bool between(char c) {
    if (is_space(c)) return true;
    if (c == '{' && !after_value_) {
      index_.rows.push_back({at_, 0});
      place_ = Place::row;
      ++depth_;
      return true;
    }
    if (c == ',' && after_value_) {
      after_value_ = false;
      wants_value_ = true;
      return true;
    }
    depth_ = 1;
    place_ = Place::members;
    return c == ']' && !wants_value_;
  }

  /// Handles a byte of the members beside the rows, which is already in the head.
  bool member(char c) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
        if (depth_ == 1) return false;  // a name may spell "rows" in escapes
      } else if (c == '"') {
        in_string_ = false;
        if (depth_ == 1 && std::string_view(index_.head).substr(string_) == "\"rows\"")
          place_ = Place::after_name;
      }
    } else if (c == '"') {
      in_string_ = true;
      string_ = index_.head.size() - 1;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      place_ = Place::end;
    }
    return true;
  }

  Place place_ = Place::start;
  std::uint64_t at_ = 0;
  std::size_t string_ = 0;  ///< beginning of the last string in the head
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false, has_rows_ = false;
  bool after_value_ = false, wants_value_ = false;
  RowIndex index_;
};

}  // namespace

std::optional<RowIndex> index_rows(std::istream& text) {
  Scanner scanner;
  std::string block(1 << 20, '\0');
  while (text.read(block.data(), static_cast<std::streamsize>(block.size())), text.gcount() > 0)
    if (!scanner.take({block.data(), static_cast<std::size_t>(text.gcount())})) return std::nullopt;
  return text.bad() ? std::nullopt : scanner.result();
}

}  // namespace assay
