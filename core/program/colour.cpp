#include "core/program/colour.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "core/machine/launched.hpp"

namespace assay {

bool colour_wanted(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(descriptor) != 0 && launched().by.empty();
}

std::string coloured(const std::string& status, bool colour) {
  if (!colour) return status;
  const char* code = status == "ok" || status == "available"              ? "32"
                     : status == "unsupported" || status == "unavailable" ? "33"
                                                                          : "31";
  return std::string("\x1b[") + code + "m" + status + "\x1b[0m";
}

}  // namespace assay
