#include "core/base/message.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

namespace {

/// The text with each byte that is not UTF-8 written as \xff (its value in hexadecimal).
std::string in_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
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
std::string shortened(std::string_view text, std::size_t most) {
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

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) ||
      (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90))
    return 0;
  return length;
}

std::string message_text(std::string_view message) {
  const std::string text = in_lines_of_faults(in_utf8(message));
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find_first_of(" \n", at), text.size());
    shown += shortened(std::string_view(text).substr(at, space - at), longest_word);
    if (space < text.size()) shown += text[space];
    at = space + 1;
  }
  return shortened(shown, longest_message);
}

}  // namespace assay
