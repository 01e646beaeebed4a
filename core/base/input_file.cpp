#include "core/base/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

std::string name_kind(mode_t mode) {
  if (S_ISREG(mode)) return "";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why,
                         const std::string& suggestion) {
  throw InputError(fmt::format("{}: cannot be read ({}). {}", file.string(), why, suggestion));
}

}  // namespace

std::string kind_that_is_not_read(const fs::path& file) {
  struct stat state {};
  return ::stat(file.c_str(), &state) == 0 ? name_kind(state.st_mode) : "";
}

std::string read_text_file(const fs::path& file, std::uint64_t most) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const auto words = [](int error) { return std::generic_category().message(error); };
  if (opened.number() < 0) {
    const int error = errno;
    if (const std::string kind = kind_that_is_not_read(file); kind == "a socket")
      refuse(file, "it is a socket", "Name a regular file.");
    refuse(file, words(error), "Check the name and its permissions.");
  }
  struct stat state {};
  if (::fstat(opened.number(), &state) != 0) refuse(file, words(errno), "Check the disk.");
  const std::string kind = name_kind(state.st_mode);
  if (kind == "a folder") refuse(file, "it is a folder", "Name a file in it.");
  if (!kind.empty())
    refuse(file, fmt::format("it is {}, which may never end", kind),
           "Write its content to a regular file, and name that.");
  const auto too_large = [&] {
    refuse(file, fmt::format("it is larger than {} MiB, the most that is read", most >> 20),
           "Name the right file.");
  };
  if (static_cast<std::uint64_t>(state.st_size) > most) too_large();
  // The size is not used: files of the kernel have none, and other files may grow. An empty read is
  // the end.
  std::string text;
  text.reserve(static_cast<std::size_t>(state.st_size));
  std::vector<char> block(1 << 20);
  for (;;) {
    const ssize_t got = ::read(opened.number(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(file, words(errno), "Check the disk.");
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > most) too_large();
  }
}

}  // namespace assay
