#include "runner/supervision/run_folder.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <list>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/numbers.hpp"
#include "core/base/temporary.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay::collecting {

namespace fs = std::filesystem;

namespace {

std::string boot_here() {
  const std::string boot = readable_text("/proc/sys/kernel/random/boot_id");
  return boot.substr(0, boot.find('\n'));
}

/// Process ids mean nothing in another container.
std::string process_namespace_here() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/ns/pid", unknown).string();
}

}  // namespace

std::string holder_here() {
  return fmt::format("process {} on {} since {:%Y-%m-%dT%H:%M:%SZ}\nboot {} in {} start {}\n",
                     getpid(), host_here(), fmt::gmtime(std::time(nullptr)), boot_here(),
                     process_namespace_here(), process_at(getpid()).start);
}

bool has_ended(const std::string& holder) {
  std::istringstream stream(holder);
  // The number differs from twelve if a part is unknown or not yet written.
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (!holder.ends_with('\n') || words.size() != 12 || words[3] != host_here() ||
      words[7] != boot_here() || words[9] != process_namespace_here())
    return false;
  const std::optional<pid_t> number = parse_number<pid_t>(words[1]);
  if (!number || *number <= 0) return false;
  // Another user's process may be hidden in /proc, but not from kill().
  if (kill(*number, 0) != 0 && errno == ESRCH) return true;
  const ProcessEntry now = process_at(*number);
  return !now.start.empty() && (now.state == 'Z' || now.start != words[11]);
}

bool is_at_work(const fs::path& folder, const LockFile& lock) {
  const FileDescriptor file(::open((folder / lock_name).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return false;
  if (lock(file.number(), LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return fs::exists(folder / held_by_name) && !has_ended(readable_text(folder / held_by_name));
}

}  // namespace assay::collecting

namespace assay {

namespace fs = std::filesystem;

namespace {

/// True if the file did not exist and was created: this decides who wins even without locks.
bool creates(const fs::path& file) {
  const FileDescriptor created(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (created.number() < 0 && errno != EEXIST)
    throw InputError(fmt::format("cannot make {} ({}). Choose another folder with --out.",
                                 file.string(), std::strerror(errno)));
  return created.number() >= 0;
}

bool holds_by(const fs::path& file) {
  static std::list<Temporary> held;
  if (!creates(file)) return false;
  held.emplace_back(file);
  std::ofstream(file) << collecting::holder_here();
  return true;
}

/// Takes over the file of a process that was killed. If several runs find the file, only one may
/// take it over, because the others could remove the file of the winner.
bool takes_over(const fs::path& file) {
  const fs::path next = file.parent_path() / collecting::next_holder_name;
  if (!creates(next)) return false;
  const Temporary claim(next);
  std::error_code stays;
  return collecting::has_ended(readable_text(file)) && fs::remove(file, stays) && holds_by(file);
}

/// True if the file names this process. Otherwise `fault` says which one it names.
bool gets_file(const fs::path& file, std::string& fault) {
  if (holds_by(file)) return true;
  const std::string holder = readable_text(file);
  if (collecting::has_ended(holder) && takes_over(file)) return true;
  const bool claimed = fs::exists(file.parent_path() / collecting::next_holder_name);
  fault = fmt::format("{} says \"{}\"; remove it{} if that process runs no more", file.string(),
                      visible(holder.substr(0, holder.find('\n'))),
                      claimed ? fmt::format(" and {}", collecting::next_holder_name) : "");
  return false;
}

/// True if this process gets the folder. `fault`: who else may have it, if there are no locks.
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

void probe_disk(const std::filesystem::path& folder) {
  const Temporary file(folder / ".space");
  const char* const name = file.path().c_str();
  unlink(name);
  const FileDescriptor probe(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const std::string block(1 << 18, ' ');
  const ssize_t written =
      probe.number() < 0 ? -1 : write(probe.number(), block.data(), block.size());
  if (written >= 0 && written < static_cast<ssize_t>(block.size())) errno = ENOSPC;
  if (written != static_cast<ssize_t>(block.size()) || fsync(probe.number()) != 0)
    throw std::system_error(errno, std::generic_category(), folder.string());
}

}  // namespace assay
