#include "core/program/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/machine/launched.hpp"

namespace assay {

std::optional<std::size_t> find_terminal_width(int descriptor) {
  if (isatty(descriptor) == 0 || !read_launch_info().by.empty()) return std::nullopt;
  std::size_t columns = 0;
  if (const char* variable = std::getenv("COLUMNS")) {
    const std::string_view text = variable;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error != std::errc() || end != text.data() + text.size()) columns = 0;
  }
  if (winsize size{}; columns == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  if (columns == 0) return std::nullopt;
  return std::max(columns, least_terminal_width);
}

bool colour_wanted(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(descriptor) != 0 && read_launch_info().by.empty();
}

std::string add_colour(const std::string& status, bool colour) {
  if (!colour) return status;
  const char* code = status == "ok" || status == "available"              ? "32"
                     : status == "unsupported" || status == "unavailable" ? "33"
                                                                          : "31";
  return std::string("\x1b[") + code + "m" + status + "\x1b[0m";
}

}  // namespace assay
