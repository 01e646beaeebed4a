#pragma once
// The folder of a run, which one run at a time uses. The process that has the folder holds its lock
// or, if the file system has no locks, the file held_by_name names the process.

#include <sys/file.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

namespace assay {

/// Locks an open file, or fails, like flock(2).
using LockFile = std::function<int(int descriptor, int operation)>;

}  // namespace assay

namespace assay::collecting {

/// The files of the process that has the folder. They are local to the node.
inline constexpr const char* lock_name = ".lock";
inline constexpr const char* held_by_name = ".held-by";
/// The lock that decides which of several processes may replace held_by_name.
inline constexpr const char* next_holder_name = ".held-by.next";

/// The content of held_by_name for this process. The first line is for people.
std::string holder_here();

/// True if the process named by `holder`, the content of held_by_name, has certainly ended: it was
/// started on this host, since its boot, among the processes that are visible here, and no process
/// has its number and start time. Nothing is known about processes of other hosts.
bool has_ended(const std::string& holder);

/// True if an `assay run` is active in the folder.
bool is_at_work(const std::filesystem::path& folder, const LockFile& lock = ::flock);

}  // namespace assay::collecting

namespace assay {

/// The time that a resumed run waits for the previous run in its folder to end. A batch system may
/// start the next job before the processes of the previous one have ended.
inline constexpr std::chrono::seconds patience_with_earlier(30);

/// Creates the folder and its log/, and locks it until this process ends, so that only one run uses
/// it at a time. InputError if it cannot be created, or another process holds the lock for longer
/// than `patience`; waiting is reported on stderr. On a file system without locks the file
/// collecting::held_by_name replaces the lock. It is removed when this process exits. If this
/// process was killed, the next run on this host takes over the folder; a run on another host
/// reports which file to remove.
void hold_folder(const std::filesystem::path& folder, std::chrono::seconds patience,
                 const LockFile& lock = ::flock);

/// Writes and removes a file of 256 KiB in `folder`, because a case needs space for its row and
/// more. Throws std::system_error if that fails, like an append to the journal.
void probe_disk(const std::filesystem::path& folder);

}  // namespace assay
