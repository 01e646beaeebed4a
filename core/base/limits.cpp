#include "core/base/limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "core/base/error.hpp"

namespace assay {

namespace fs = std::filesystem;

std::string limit_behind(int error) {
  const bool of_size = error == EFBIG;
  if (!of_size && error != EMFILE) return "";
  rlimit limit{};
  if (getrlimit(of_size ? RLIMIT_FSIZE : RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY)
    return "";
  return fmt::format(", `ulimit {}` allows {}{}", of_size ? "-f" : "-n", limit.rlim_cur,
                     of_size ? " bytes" : "");
}

std::string words_of_error(int error) {
  return std::generic_category().message(error) + limit_behind(error);
}

void survive_size_limit() {
  struct sigaction now {};
  if (::sigaction(SIGXFSZ, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    std::signal(SIGXFSZ, SIG_IGN);
}

fs::path temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  const bool is_named = named != nullptr && *named != '\0';
  const fs::path folder = is_named ? named : "/tmp";
  std::error_code error;
  const bool there = fs::is_directory(folder, error);
  if (!there && !error) error = std::make_error_code(std::errc::not_a_directory);
  if (there && ::access(folder.c_str(), W_OK | X_OK) == 0) return folder;
  throw CaseError(fmt::format(
      "temporary files cannot be written to {}{} ({}). Set TMPDIR to a folder that you may write "
      "to.",
      is_named ? "TMPDIR, " : "", folder.string(),
      there ? words_of_error(errno) : error.message()));
}

}  // namespace assay
