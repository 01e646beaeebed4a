#pragma once
// Messages of errors, as programs print them. They quote values of users and files, which may be
// anything.

#include <string>
#include <string_view>

namespace assay {

/// A longer word of a message (a value without spaces) is shortened; the names of files fit.
inline constexpr std::size_t longest_word = 600;
/// A longer message loses its middle: it begins with the place of the fault, and ends with advice.
inline constexpr std::size_t longest_message = 4000;

/// Length of the valid UTF-8 character at the beginning of `text`, and its code point; 0 if there
/// is none.
std::size_t utf8_length(std::string_view text, char32_t& point);

/// `message` in valid UTF-8, with shortened words and as one line: a line break stays only before
/// a further fault of the same file, else it belongs to a value and becomes \n.
std::string message_text(std::string_view message);

}  // namespace assay
