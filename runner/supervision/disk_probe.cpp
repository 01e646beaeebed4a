#include "runner/supervision/disk_probe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace assay {

namespace fs = std::filesystem;

void probe_disk(const fs::path& folder) {
  const fs::path file = folder / ".space";
  unlink(file.c_str());
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  int error = descriptor < 0 ? errno : 0;
  const std::string block(1 << 18, ' ');
  if (error == 0) {
    const ssize_t written = write(descriptor, block.data(), block.size());
    if (written < 0)
      error = errno;
    else if (written < static_cast<ssize_t>(block.size()))
      error = ENOSPC;
    if (error == 0 && fsync(descriptor) != 0) error = errno;
    close(descriptor);
  }
  unlink(file.c_str());
  if (error != 0) throw std::system_error(error, std::generic_category(), folder.string());
}

}  // namespace assay
