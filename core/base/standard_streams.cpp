#include "core/base/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <system_error>

#include "core/base/message.hpp"

namespace assay {
namespace {

/// Escapes each piece of text and hands it on.
class Escaping final : public std::streambuf {
 public:
  explicit Escaping(std::streambuf& to) : to_(to) {}

 private:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char character = traits_type::to_char_type(c);
    return xsputn(&character, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::string safe = escaped(std::string(text, static_cast<std::size_t>(count)));
    const auto size = static_cast<std::streamsize>(safe.size());
    return to_.sputn(safe.data(), size) == size ? count : 0;
  }
  int sync() override { return to_.pubsync(); }
  std::streambuf& to_;
};

}  // namespace

std::string escaped(const std::string& text) {
  std::string safe;
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const unsigned c = byte(at);
    if ((c < 0x20 && c != '\n' && c != '\t' && c != end_of_case) || c == 0x7F) {
      safe += fmt::format("\\x{:02x}", c);
    } else if (c == 0xC2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xA0) {  // U+0080 to U+009F
      safe += fmt::format("\\x{:02x}", byte(++at));
    } else if (const unsigned point = 0x2000 + ((byte(at + 1) & 0x3F) << 6) + (byte(at + 2) & 0x3F);
               c == 0xE2 &&
               ((point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069))) {
      safe += fmt::format("\\u{:04x}", point);
      at += 2;
    } else if (const std::size_t length = utf8_length(std::string_view(text).substr(at));
               length == 0) {
      safe += fmt::format("\\x{:02x}", c);
    } else {
      safe += text.substr(at, length);
      at += length - 1;
    }
  }
  return safe;
}

void fill_standard_streams() {
  // In order: open gives the lowest number that is free. Read-only, so that a write to a stdout
  // that was closed fails, as it would have.
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

/// Whether nothing reads the pipe or socket that stdout is any more.
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
