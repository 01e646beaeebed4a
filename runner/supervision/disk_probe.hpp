#pragma once
// Whether the disk of a run still has space.

#include <filesystem>

namespace assay {

/// Writes and removes a file of 256 KiB in `folder`, since a case needs space for its row and more.
/// std::system_error, as an append to the journal would throw, if that fails.
void probe_disk(const std::filesystem::path& folder);

}  // namespace assay
