#include "core/base/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <system_error>

#include "core/base/message.hpp"

namespace assay {
namespace {

/// Escapes each piece of text and passes it on.
class Escaping final : public std::streambuf {
 public:
  explicit Escaping(std::streambuf& to) : target_(to) {}

 private:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char character = traits_type::to_char_type(c);
    return xsputn(&character, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::string safe = escape_controls(std::string(text, static_cast<std::size_t>(count)));
    const auto size = static_cast<std::streamsize>(safe.size());
    return target_.sputn(safe.data(), size) == size ? count : 0;
  }
  int sync() override { return target_.pubsync(); }
  std::streambuf& target_;
};

}  // namespace

std::string escape_controls(const std::string& text) {
  std::string safe;
  for (std::string_view rest = text; !rest.empty();) {
    char32_t point = 0;
    const std::size_t length = utf8_length(rest, point);
    if (length == 0) point = static_cast<unsigned char>(rest.front());
    const bool control = (point < 0x20 && point != '\n' && point != '\t' && point != end_of_case) ||
                         (point >= 0x7F && point < 0xA0);
    const bool turns = (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
    if (length == 0 || control)
      safe += fmt::format("\\x{:02x}", static_cast<unsigned>(point));
    else if (turns)
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    else
      safe += rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return safe;
}

void fill_standard_streams() {
  // In order, because open() returns the lowest free number. Read-only, so that writing to a closed
  // stdout still fails.
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      if (::open("/dev/null", stream == 2 ? O_WRONLY : O_RDONLY) < 0) return;
}

EscapedErrors::EscapedErrors()
    : escaping_(std::make_unique<Escaping>(*std::cerr.rdbuf())),
      before_(std::cerr.rdbuf(escaping_.get())) {}

EscapedErrors::~EscapedErrors() { std::cerr.rdbuf(before_); }

void survive_leaving_reader() { std::signal(SIGPIPE, SIG_IGN); }

namespace {

/// True if stdout is a pipe or socket without a reader.
bool reader_has_left() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

std::optional<std::string> why_output_lost() {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::cout.good() && std::ferror(stdout) == 0) return std::nullopt;
  if (reader_has_left()) return std::nullopt;
  return fmt::format(
      "what was to be printed is lost (stdout cannot be written{}). Give a file, or a device that "
      "has room.",
      error == 0 ? "" : ": " + std::generic_category().message(error));
}

}  // namespace assay
