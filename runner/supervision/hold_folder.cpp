#include "runner/supervision/hold_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "runner/supervision/holder.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// The files that this process has written, removed at its exit.
class HeldFiles {
 public:
  HeldFiles() = default;
  HeldFiles(const HeldFiles&) = delete;
  HeldFiles& operator=(const HeldFiles&) = delete;
  ~HeldFiles() {
    std::error_code stays;
    for (const auto& [owner, file] : files_)
      if (owner == getpid()) fs::remove(file, stays);  // else this is a child
  }
  void add(const fs::path& file) { files_.emplace_back(getpid(), file); }

 private:
  std::vector<std::pair<pid_t, fs::path>> files_;
};

/// Whether the file, which there must not be yet, was created: who does so is decided without
/// locks, too.
bool creates(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) close(descriptor);
  if (descriptor < 0 && errno != EEXIST)
    throw InputError(fmt::format("cannot make {} ({}). Choose another folder with --out.",
                                 file.string(), std::strerror(errno)));
  return descriptor >= 0;
}

bool holds_by(const fs::path& file) {
  static HeldFiles held;
  if (!creates(file)) return false;
  held.add(file);
  std::ofstream(file) << collecting::holder_here();
  return true;
}

/// Takes the place of a process that was killed. Of several runs that find its file only one may:
/// the others could remove what that one has written.
bool takes_over(const fs::path& file) {
  struct Claim {
    fs::path file;
    bool made;
    ~Claim() {
      std::error_code stays;
      if (made) fs::remove(file, stays);
    }
  };
  const fs::path next = file.parent_path() / collecting::next_holder_name;
  const Claim claim{next, creates(next)};
  std::error_code stays;
  return claim.made && collecting::has_ended(collecting::holder_of(file)) &&
         fs::remove(file, stays) && holds_by(file);
}

/// Whether this process is the one that the file names. `fault` says which one is otherwise.
bool gets_file(const fs::path& file, std::string& fault) {
  if (holds_by(file)) return true;
  const std::string holder = collecting::holder_of(file);
  if (collecting::has_ended(holder) && takes_over(file)) return true;
  const bool claimed = fs::exists(file.parent_path() / collecting::next_holder_name);
  fault = fmt::format("{} says \"{}\"; remove it{} if that process runs no more", file.string(),
                      visible(holder.substr(0, holder.find('\n'))),
                      claimed ? fmt::format(" and {}", collecting::next_holder_name) : "");
  return false;
}

/// Whether the folder is got. `fault`: who else may have it, where there are no locks.
bool gets_folder(int descriptor, const fs::path& folder, const LockFile& lock, std::string& fault) {
  if (lock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return gets_file(folder / collecting::held_by_name, fault);  // a file system without locks
}

}  // namespace

void hold_folder(const fs::path& folder, std::chrono::seconds patience, const LockFile& lock) {
  std::error_code error;
  fs::create_directories(folder / "log", error);
  if (error)
    throw InputError(fmt::format("cannot make {} ({}). Choose another folder with --out.",
                                 (folder / "log").string(), error.message()));
  const int descriptor =
      open((folder / collecting::lock_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw InputError(fmt::format("cannot open {} ({}). Choose another folder with --out.",
                                 (folder / collecting::lock_name).string(), std::strerror(errno)));
  constexpr std::chrono::milliseconds look(100);
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string fault;
  for (bool said = false; !gets_folder(descriptor, folder, lock, fault);) {
    if (std::chrono::steady_clock::now() >= end)
      throw InputError(fmt::format(
          "another `assay run` is running in {}{}. Wait for it, or choose another --out.",
          folder.string(), fault.empty() ? "" : " (" + fault + ")"));
    if (!std::exchange(said, true))
      std::cerr << fmt::format(
                       "assay run: another `assay run` is still running in {}; waiting up to {} s "
                       "for its end",
                       folder.string(), patience.count())
                << std::endl;
    std::this_thread::sleep_for(look);
  }
}

}  // namespace assay
