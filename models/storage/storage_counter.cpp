#include "models/storage/storage_counter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "core/base/file_descriptor.hpp"

namespace assay {
namespace {

constexpr double sector_bytes = 512;    // the kernel's unit on every device
constexpr long cachestat_number = 451;  // of the system call on every architecture

struct CacheRange {                     // struct cachestat_range
  std::uint64_t offset = 0, bytes = 0;  // 0: up to the end
};
struct CachePages {  // struct cachestat
  std::uint64_t cached = 0, dirty = 0, in_writeback = 0, evicted = 0, recently_evicted = 0;
};

}  // namespace

StorageCounter::StorageCounter(const std::filesystem::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0)
    device_file_ =
        fmt::format("/sys/dev/block/{}:{}/stat", major(status.st_dev), minor(status.st_dev));
}

void StorageCounter::begin() {
  device_before_ = device_now();
  thread_.emplace();
}

void StorageCounter::end() {
  of_thread_ = {static_cast<double>(thread_->from_device()),
                static_cast<double>(thread_->to_device())};
  of_device_ = device_now();
  if (!device_before_ || !of_device_) return of_device_.reset();
  of_device_->read -= device_before_->read;
  of_device_->written -= device_before_->written;
}

/// Fields 3 and 7 of the kernel's Documentation/block/stat.rst.
std::optional<StorageBytes> StorageCounter::device_now() const {
  std::ifstream file(device_file_);
  std::array<double, 7> fields{};
  for (double& field : fields) file >> field;
  if (!file) return std::nullopt;
  return StorageBytes{fields[2] * sector_bytes, fields[6] * sector_bytes};
}

double count_unwritten_bytes(const std::filesystem::path& file) {
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  CacheRange all;
  CachePages pages;
  if (opened.number() < 0 || ::syscall(cachestat_number, opened.number(), &all, &pages, 0) != 0)
    return 0;
  return static_cast<double>(pages.dirty + pages.in_writeback) *
         static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace assay
