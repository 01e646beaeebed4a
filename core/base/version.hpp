#pragma once
// The version of this build. It is in a translation unit of its own, because each commit changes it
// and recompiles that unit.

#include <string>

namespace assay {

std::string version();     ///< "0.1.0"
std::string git_commit();  ///< full hash, "" if unknown
bool git_dirty();          ///< built from a tree with uncommitted changes (true if unknown)
/// "0.1.0 (commit 1a2b3c4d, dirty)"
std::string format_version();

}  // namespace assay
