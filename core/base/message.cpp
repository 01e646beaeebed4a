#include "core/base/message.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

namespace {

/// The text with each byte that is not UTF-8 written as \xff (its value in hexadecimal).
std::string in_utf8(std::string_view text) {
  std::string valid;
  for (char32_t point = 0; !text.empty();) {
    const std::size_t length = utf8_length(text, point);
    if (length > 0)
      valid += text.substr(0, length);
    else
      valid += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

/// Reading a file reports each fault on a line that begins with the file's name.
std::string in_lines_of_faults(const std::string& text) {
  const std::string file = text.substr(0, text.find_first_of(" \n"));
  std::string lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool fault = text.compare(at + 1, file.size(), file) == 0 ||
                       text.compare(at + 1, std::string("…").size(), "…") == 0;
    if (text[at] != '\n' || fault)
      lines += text[at];
    else
      lines += "\\n";
  }
  return lines;
}

/// The beginning and the end of a text of more than `most` bytes, and how long it was.
std::string shorten(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto inside = [&](std::size_t at) {  // a character
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t head = most * 2 / 3, tail = text.size() - most / 6;
  while (head > 0 && inside(head)) --head;
  while (tail < text.size() && inside(tail)) ++tail;
  return fmt::format("{}… ({} bytes) …{}", text.substr(0, head), text.size(), text.substr(tail));
}

}  // namespace

std::size_t utf8_length(std::string_view text, char32_t& point) {
  static constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};  // less is an overlong encoding
  const unsigned first = text.empty() ? 0xFF : static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (length > text.size() || first >= 0xF8 || (first & 0xC0) == 0x80) return 0;
  point = length == 1 ? first : first & (0x7Fu >> length);
  for (const char c : text.substr(1, length - 1)) {
    const unsigned next = static_cast<unsigned char>(c);
    if ((next & 0xC0) != 0x80) return 0;
    point = (point << 6) | (next & 0x3F);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < least[length] || point > 0x10FFFF || surrogate ? 0 : length;
}

std::string message_text(std::string_view message) {
  const std::string text = in_lines_of_faults(in_utf8(message));
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find_first_of(" \n", at), text.size());
    shown += shorten(std::string_view(text).substr(at, space - at), longest_word);
    if (space < text.size()) shown += text[space];
    at = space + 1;
  }
  return shorten(shown, longest_message);
}

}  // namespace assay
