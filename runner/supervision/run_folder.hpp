#pragma once
// The folder of a run: one run at a time is in it. The process that has the folder holds its lock
// or, where the file system has no locks, is named by the file held_by_name.

#include <sys/file.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

namespace assay {

/// Locks an open file, or fails, as flock(2) does.
using LockFile = std::function<int(int descriptor, int operation)>;

}  // namespace assay

namespace assay::collecting {

/// The files of the process that has the folder. They are the node's alone.
inline constexpr const char* lock_name = ".lock";
inline constexpr const char* held_by_name = ".held-by";
/// The lock that decides which of several processes may replace held_by_name.
inline constexpr const char* next_holder_name = ".held-by.next";

/// The content of held_by_name for this process. The first line is for people.
std::string holder_here();

/// True if the process that `holder`, the content of held_by_name, names has certainly ended: it
/// was started on this host, since the host's boot and among the processes that can be seen from
/// here, and there is no process with its number and its time of start. Nothing is known of another
/// host's processes.
bool has_ended(const std::string& holder);

/// True if an `assay run` is at work in the folder.
bool is_at_work(const std::filesystem::path& folder, const LockFile& lock = ::flock);

}  // namespace assay::collecting

namespace assay {

/// The time that a resumed run waits for the previous run in its folder to end. A batch system may
/// start the next job while the processes of the previous one are still being terminated.
inline constexpr std::chrono::seconds patience_with_earlier(30);

/// Creates the folder and its log/, and locks it until this process ends, so that only one run uses
/// it at a time. InputError if it cannot be created, or another process holds the lock for longer
/// than `patience`; waiting is reported on stderr. On a file system without locks the file
/// collecting::held_by_name takes their place. It is removed when this process exits; if it was
/// killed, the next run on this host takes the folder over, and one on another host is reported
/// what to remove.
void hold_folder(const std::filesystem::path& folder, std::chrono::seconds patience,
                 const LockFile& lock = ::flock);

/// Writes and removes a file of 256 KiB in `folder`, since a case needs space for its row and more.
/// std::system_error, as an append to the journal would throw, if that fails.
void probe_disk(const std::filesystem::path& folder);

}  // namespace assay
