#pragma once
// stdin, stdout and stderr of a program: always open, safe for a terminal, and with an error if
// output is lost.

#include <memory>
#include <optional>
#include <streambuf>
#include <string>

namespace assay {

/// Opens /dev/null for each of stdin, stdout and stderr that was closed when the program started
/// (`<&- >&-`). Otherwise the next opened file would get its number, and receive printed text.
/// Writing to a stdout that was closed still fails.
void fill_standard_streams();

/// Rank 0 writes this character (ASCII's record separator) to stderr after each case. `assay run`
/// finds it in the log, so that later messages are not attributed to that case. It is a single
/// byte, so that a truncated log cannot contain half of it.
inline constexpr char end_of_case = '\x1e';

/// While the object exists, std::cerr writes control characters and bytes that are not UTF-8 as
/// \x1b, and characters that change the direction of writing as \u202e. Such characters may come
/// from names and contents of files. Line breaks, tabs and end_of_case are not changed.
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

/// The text in the form in which EscapedErrors writes it.
std::string escape_controls(const std::string& text);

/// The program continues if the reader of its stdout leaves (`| head -1`), where SIGPIPE would end
/// it. It serves programs whose results go to a file.
void survive_leaving_reader();

/// Flushes std::cout. The reason why output was lost, or nothing. A reader that has left is no
/// reason: it wanted no further output.
std::optional<std::string> why_output_lost();

}  // namespace assay
