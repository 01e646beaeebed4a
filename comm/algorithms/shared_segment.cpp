#include "comm/algorithms/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace assay {

namespace {

std::string because(const std::string& what, int error) {
  return what + ": " + std::strerror(error);
}

/// A descriptor that is closed with its scope.
struct File {
  int fd = -1;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

/// A new object without a name, of `bytes` (not yet backed by memory); the reason where not.
std::string create(File& file, std::size_t bytes) {
  std::random_device random;
  const std::string name = "/assay-" + std::to_string(getpid()) + "-" + std::to_string(random());
  file.fd = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file.fd < 0) return because("shm_open", errno);
  shm_unlink(name.c_str());
  if (ftruncate(file.fd, static_cast<off_t>(bytes)) != 0) return because("ftruncate", errno);
  return "";
}

}  // namespace

Made<std::unique_ptr<SharedSegment>> SharedSegment::make(Communicator& ranks,
                                                         std::size_t bytes_of_rank) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t own_bytes = (bytes_of_rank + page - 1) / page * page;
  const std::size_t bytes = own_bytes * static_cast<std::size_t>(ranks.size());
  const int rank = ranks.rank();

  File file;
  std::string path, problem;
  if (rank == 0) {
    problem = create(file, bytes);
    path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file.fd);
  }
  const std::string first = ranks.gather(path).front();
  if (rank != 0) {
    file.fd = open(first.c_str(), O_RDWR | O_CLOEXEC);
    if (file.fd < 0) problem = because("open " + first, errno);
  }
  // Each rank backs its own pages: they are then on its own memory node, and a full /dev/shm is
  // told here.
  if (problem.empty()) {
    const int error = posix_fallocate(file.fd, static_cast<off_t>(own_bytes) * rank,
                                      static_cast<off_t>(own_bytes));
    if (error != 0)
      problem = because("shared memory of " + std::to_string(own_bytes) + " bytes", error);
  }
  // Another file system or process may have the same path: what is open must be the same object.
  struct stat status {};
  std::string identity;
  if (problem.empty() && fstat(file.fd, &status) != 0) problem = because("fstat", errno);
  if (problem.empty())
    identity = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  void* data = nullptr;
  if (problem.empty()) {
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (data == MAP_FAILED) problem = because("mmap", errno);
  }
  std::unique_ptr<SharedSegment> segment;
  if (problem.empty())
    segment = std::make_unique<SharedSegment>(static_cast<std::byte*>(data), own_bytes, bytes);

  const std::vector<std::string> all =
      ranks.gather(problem.empty() ? "=" + identity : "!" + problem);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i][0] == '!')
      return Unsupported{"no shared segment (rank " + std::to_string(i) + ": " + all[i].substr(1) +
                         ")"};
    if (all[i] != all[0])
      return Unsupported{"no shared segment (rank " + std::to_string(i) +
                         " does not see the processes of rank 0: another host or container)"};
  }
  return segment;
}

SharedSegment::~SharedSegment() { munmap(data_, bytes_); }

}  // namespace assay
