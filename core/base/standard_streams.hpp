#pragma once
// The three streams of a program: there from the start, safe for a terminal, and never lost in
// silence.

#include <memory>
#include <optional>
#include <streambuf>
#include <string>

namespace assay {

/// Gives a program that was started without stdin, stdout or stderr (`<&- >&-`) descriptors in
/// their place: the next file that it opens would get their number, and what is printed would go
/// into it. What is written to a stdout that was closed still fails.
void fill_standard_streams();

/// Rank 0 ends the part of a case in the log (stderr) with this (ASCII's record separator), so that
/// what is said later is not put down to that case. One byte: no cut leaves a half of it.
inline constexpr char end_of_case = '\x1e';

/// While it lives, std::cerr shows control characters (of file names, of other people's files) as
/// \x1b, and signs that turn the direction of writing as \u202e. Line breaks and tabs stay, and
/// so does the mark between cases, which `assay run` looks for (core/base/standard_streams.hpp).
class EscapedErrors {
 public:
  EscapedErrors();
  ~EscapedErrors();
  EscapedErrors(const EscapedErrors&) = delete;
  EscapedErrors& operator=(const EscapedErrors&) = delete;

 private:
  std::unique_ptr<std::streambuf> escaping_;
  std::streambuf* before_;
};

/// A text as EscapedErrors shows it.
std::string escaped(const std::string& text);

/// Writes out what std::cout holds: why some of what was printed is lost, or nothing.
std::optional<std::string> why_output_lost();

}  // namespace assay
