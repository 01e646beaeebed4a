#include "core/base/temporary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/base/signal_note.hpp"

namespace assay {

namespace {

std::mutex changing;
std::atomic<Temporary*> first = nullptr;  // read by signal handlers

struct Entry {  // of getdents64(2)
  std::uint64_t inode, offset;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

/// remove_all() of the standard library allocates memory, and so does opendir().
void remove_tree(int parent, const char* name) {
  if (unlinkat(parent, name, 0) == 0) return;
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(Entry) char entries[4096];
  // Removing an entry may move the entries behind it, so the folder is read again until a pass
  // finds none.
  for (bool removed = true; removed && lseek(folder, 0, SEEK_SET) == 0;) {
    removed = false;
    for (long got; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
      for (long at = 0; at < got;) {
        const auto* entry = reinterpret_cast<const Entry*>(entries + at);
        at += entry->bytes;
        if (std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0) continue;
        remove_tree(folder, entry->name);
        removed = removed || faccessat(folder, entry->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
      }
  }
  close(folder);
  unlinkat(parent, name, AT_REMOVEDIR);
}

}  // namespace

Temporary::Temporary(std::filesystem::path path) : path_(std::move(path)), owner_(getpid()) {
  remove_temporaries_by_signals();
  const std::lock_guard lock(changing);
  next_ = first;
  if (next_ != nullptr) next_->before_ = this;
  first = this;
}

void Temporary::keep() {
  const std::lock_guard lock(changing);
  if (!std::exchange(listed_, false)) return;
  if (before_ != nullptr)
    before_->next_ = next_;
  else
    first = next_;
  if (next_ != nullptr) next_->before_ = before_;
}

Temporary::~Temporary() {
  if (!listed_) return;
  std::error_code stays;
  std::filesystem::remove_all(path_, stays);
  keep();
}

std::filesystem::path temporary_beside(const std::filesystem::path& target) {
  return target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), getpid());
}

void remove_temporaries() {
  for (const Temporary* each = first; each != nullptr; each = each->next_)
    if (each->owner_ == getpid()) remove_tree(AT_FDCWD, each->path_.c_str());
}

}  // namespace assay
