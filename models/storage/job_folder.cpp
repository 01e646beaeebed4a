#include "models/storage/job_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/base/text.hpp"
#include "core/measure/rank_failure.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = ".assay-io.lock";
constexpr const char* job_prefix = "assay-io.job.";  // prefix of the folder of a job
constexpr const char* kept_prefix = "assay-io.kept.";

InputError make_io_folder_error(const fs::path& folder, const std::string& why,
                                const std::string& cure) {
  return InputError(fmt::format("--folder {}: {}. {}", folder.string(), why, cure));
}

InputError unwritable_io_folder(const fs::path& folder, int error) {
  return make_io_folder_error(folder, fmt::format("cannot be written ({})", words_of_error(error)),
                              "Name a folder that you may write to.");
}

}  // namespace

std::string find_file_system(const fs::path& folder) {
  struct stat status {};
  struct statfs system {};
  if (::stat(folder.c_str(), &status) != 0 || ::statfs(folder.c_str(), &system) != 0)
    throw make_io_folder_error(folder, fmt::format("cannot be used ({})", words_of_error(errno)),
                               "Name a folder that is there.");
  if (!S_ISDIR(status.st_mode))
    throw make_io_folder_error(folder, "is not a folder", "Name the folder that it is in.");
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() > 2 && words[2] == device && words.end() - dash > 1) return dash[1];
  }
  return fmt::format("0x{:x}", static_cast<unsigned long>(system.f_type));
}

JobFolder::JobFolder(fs::path parent, bool keep, Communicator& ranks)
    : parent_(std::move(parent)), keep_(keep), makes_(ranks.rank() == 0) {
  std::string name;
  throw_on_all(ranks, [&] {
    if (!makes_) return;
    survive_size_limit();
    lock();
    const std::string own = fmt::format("{}{}.", job_prefix, ranks.host());
    remove_left_over(own);
    name = fmt::format("{}{}.{}", own, getpid(),
                       std::chrono::system_clock::now().time_since_epoch().count());
    folder_ = std::make_unique<Temporary>(parent_ / name);
    if (::mkdir(path().c_str(), 0777) != 0) throw unwritable_io_folder(parent_, errno);
  });
  name = ranks.allgather(name).front();
  // A launcher soon kills the ranks that outlive the first one, so every rank removes everything.
  // The Temporary that is made last is removed first.
  if (makes_) lock_file_->keep();
  if (!makes_) folder_ = std::make_unique<Temporary>(parent_ / name);
  lock_file_ = std::make_unique<Temporary>(parent_ / lock_name);
  throw_on_all(ranks, [&] {
    if (!fs::is_directory(path()))
      throw make_io_folder_error(parent_, "this rank does not see what rank 0 has made there",
                                 "Name a folder in a file system that all nodes share.");
  });
}

JobFolder::~JobFolder() {
  if (!makes_) lock_file_->keep();
  if (makes_ && !keep_) return;  // Temporary removes it
  if (makes_) {
    std::string kept = path().filename().string();
    kept.replace(0, std::string_view(job_prefix).size(), kept_prefix);
    std::error_code stays;
    fs::rename(path(), parent_ / kept, stays);
  }
  folder_->keep();
}

fs::path JobFolder::find_file(int rank) const { return path() / fmt::format("rank{}", rank); }

void JobFolder::expect_free(double bytes) const {
  std::error_code unknown;
  const fs::space_info space = fs::space(path(), unknown);
  if (unknown || static_cast<double>(space.available) >= bytes) return;
  throw CaseError(
      fmt::format("--folder {}: the disk is too full ({:.3g} GB are needed, {:.3g} GB are free). "
                  "Free space, name another folder, or use a smaller size.",
                  parent_.string(), bytes / 1e9, static_cast<double>(space.available) / 1e9));
}

void JobFolder::lock() {
  const fs::path file = parent_ / lock_name;
  for (;;) {
    lock_.emplace(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (lock_->number() < 0) throw unwritable_io_folder(parent_, errno);
    if (::flock(lock_->number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK)
        throw make_io_folder_error(parent_,
                                   fmt::format("cannot be locked ({})", words_of_error(errno)),
                                   "Name a folder in a file system with locks (flock).");
      throw make_io_folder_error(parent_, "another job measures there (its lock is held)",
                                 "Wait until it has ended, or name another folder.");
    }
    struct stat status {};
    if (::fstat(lock_->number(), &status) == 0 && status.st_nlink > 0) break;
  }  // the owner has just removed this file, and a third job may lock a new one
  lock_file_ = std::make_unique<Temporary>(file);
}

/// No other job of this host can be using the folder: locks work at least between processes of one
/// host.
void JobFolder::remove_left_over(const std::string& own) const {
  std::error_code stays;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent_, stays))
    if (entry.path().filename().string().starts_with(own)) fs::remove_all(entry.path(), stays);
}

}  // namespace assay
