#pragma once
// One run at a time in a folder.

#include <chrono>
#include <filesystem>

#include "runner/supervision/holder.hpp"

namespace assay {

/// How long a resumed run waits for the previous run in its folder to end. A batch system may start
/// the next job while the processes of the previous one are still being terminated.
inline constexpr std::chrono::seconds patience_with_earlier(30);

/// Creates the folder and its log/, and locks it until this process ends, so that only one run uses
/// it at a time. InputError if it cannot be created, or another process holds the lock for longer
/// than `patience`; waiting is reported on stderr. On a file system without locks the file
/// collecting::held_by_name takes their place. It is removed when this process exits; if it was
/// killed, the next run on this host takes the folder over, and one on another host is told what to
/// remove.
void hold_folder(const std::filesystem::path& folder, std::chrono::seconds patience,
                 const LockFile& lock = ::flock);

}  // namespace assay
