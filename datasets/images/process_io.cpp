#include "datasets/images/process_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/error.hpp"

namespace assay {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file < 0)
      throw CaseError(
          fmt::format("cannot open {} ({}). Check its permissions.", path, std::strerror(errno)));
  }
  ~OpenFile() { close(file); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int file;
};

}  // namespace

std::optional<ProcessIo> process_io() {
  std::ifstream file("/proc/self/io");
  ProcessIo io;
  int resident = 0;
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "rchar:") io.requested = value, ++resident;
    if (name == "read_bytes:") io.from_device = value, ++resident;
  }
  if (resident != 2) return std::nullopt;
  return io;
}

double measure_cached_part(const std::vector<std::string>& files) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  double cached = 0, all = 0;
  for (const std::string& path : files) {
    const OpenFile opened(path);
    const off_t size = lseek(opened.file, 0, SEEK_END);
    if (size <= 0) continue;
    const auto bytes = static_cast<std::size_t>(size);
    void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, opened.file, 0);
    if (mapped == MAP_FAILED)
      throw CaseError(fmt::format("cannot map {} ({}).", path, std::strerror(errno)));
    std::vector<unsigned char> pages((bytes + page - 1) / page);
    if (mincore(mapped, bytes, pages.data()) == 0)
      for (const unsigned char flags : pages) cached += flags & 1;
    munmap(mapped, bytes);
    all += static_cast<double>(pages.size());
  }
  return all == 0 ? 0 : cached / all;
}

void drop_from_cache(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    const OpenFile opened(path);
    fdatasync(opened.file);
    posix_fadvise(opened.file, 0, 0, POSIX_FADV_DONTNEED);
  }
}

}  // namespace assay
