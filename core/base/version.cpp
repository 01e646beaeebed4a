#include "core/base/version.hpp"

#include "assay/build_info.hpp"
#include "assay/git_info.hpp"

namespace assay {

std::string version() { return build_info::version; }
std::string git_commit() { return build_info::git_commit; }
bool git_dirty() { return git_commit().empty() || build_info::git_dirty; }

std::string format_version() {
  const std::string commit = git_commit();
  if (commit.empty()) return version() + " (commit unknown)";
  return version() + " (commit " + commit.substr(0, 12) + (git_dirty() ? ", dirty)" : ")");
}

}  // namespace assay
