#include "comm/algorithms/shared_object.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <sstream>

#include "core/base/error.hpp"

namespace assay {

namespace {

[[noreturn]] void fail(const std::string& what, int error = errno) {
  throw CaseError(what + ": " + std::strerror(error));
}

/// Identifies an object: another process or container may have another one at the same path.
std::string identity(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail("fstat");
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

}  // namespace

SharedObject::SharedObject(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  std::random_device random;
  const std::string name = "/assay-" + std::to_string(getpid()) + "-" + std::to_string(random());
  fd_ = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (fd_ < 0) fail("shm_open");
  shm_unlink(name.c_str());
  // The destructor does not run after a constructor that throws.
  const int error = posix_fallocate(fd_, 0, static_cast<off_t>(bytes_));
  if (error != 0) {
    close(fd_);
    fail("shared memory of " + std::to_string(bytes_) + " bytes", error);
  }
  map();
}

SharedObject::SharedObject(const std::string& address) {
  std::istringstream text(address);
  std::string process, file, same;
  text >> process >> file >> bytes_ >> same;
  const std::string path = "/proc/" + process + "/fd/" + file;
  fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) fail("open " + path);
  if (identity(fd_) != same) {
    close(fd_);
    throw CaseError(path + " is another object here: another host or container");
  }
  map();
  close(fd_);  // the mapping does not need it; other processes open the owner's
  fd_ = -1;
}

void SharedObject::map() {
  void* const data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    close(fd_);
    fail("mmap of " + std::to_string(bytes_) + " bytes", error);
  }
  data_ = static_cast<std::byte*>(data);
}

SharedObject::~SharedObject() {
  munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

std::string SharedObject::address() const {
  return std::to_string(getpid()) + " " + std::to_string(fd_) + " " + std::to_string(bytes_) + " " +
         identity(fd_);
}

std::string show(Communicator& ranks, const std::vector<std::shared_ptr<SharedObject>>& mine,
                 const std::string& problem, SharedObjects& all) {
  all.clear();
  // Each rank sends "!reason" or "=address=address…".
  const auto first_problem = [](const std::vector<std::string>& messages) {
    for (std::size_t rank = 0; rank < messages.size(); ++rank)
      if (messages[rank].starts_with('!'))
        return "rank " + std::to_string(rank) + ": " + messages[rank].substr(1);
    return std::string();
  };
  std::string own = "!" + problem;
  if (problem.empty()) {
    own.clear();
    for (const auto& object : mine) own += "=" + object->address();
  }
  const std::vector<std::string> addresses = ranks.allgather(own);
  if (std::string reason = first_problem(addresses); !reason.empty()) return reason;

  SharedObjects seen(addresses.size());
  std::string unseen;
  try {
    for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
      if (static_cast<int>(rank) == ranks.rank()) {
        seen[rank] = mine;
        continue;
      }
      std::istringstream text(addresses[rank]);
      std::string address;
      std::getline(text, address, '=');  // the text before the first address is empty
      while (std::getline(text, address, '='))
        seen[rank].push_back(std::make_shared<SharedObject>(address));
    }
  } catch (const CaseError& error) {
    unseen = std::string("!") + error.what();
  }
  std::string reason = first_problem(ranks.allgather(unseen));
  if (reason.empty()) all = std::move(seen);
  return reason;
}

}  // namespace assay
