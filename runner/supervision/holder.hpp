#pragma once
// Who has the folder of a run: the process that holds its lock or, where the file system has no
// locks, the one that the file held_by_name names.

#include <sys/file.h>

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
/// Which of several processes may replace held_by_name.
inline constexpr const char* next_holder_name = ".held-by.next";

/// What held_by_name says of this process. The first line is for people.
std::string holder_here();

/// The content of held_by_name, or "".
std::string holder_of(const std::filesystem::path& file);

/// Whether the process that `holder` names has certainly ended: it was started on this host, since
/// the host's boot and among the processes that can be seen from here, and there is no process with
/// its number and its time of start. Of another host's processes nothing is known.
bool has_ended(const std::string& holder);

/// Whether an `assay run` is at work in the folder.
bool is_at_work(const std::filesystem::path& folder, const LockFile& lock = ::flock);

}  // namespace assay::collecting
