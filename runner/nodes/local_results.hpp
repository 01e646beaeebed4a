#pragma once
// `assay run --per-node --local-results`, for nodes without a shared file system: each node writes
// into a folder on its local disk, and `assay collect` copies the folders to the first node over
// MPI.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "runner/launch/launcher.hpp"
#include "runner/nodes/many_runs.hpp"

namespace assay {

class LocalResults final {
 public:
  /// `local`: a folder on every node. `out`: a folder that this process and the first node see.
  /// Both are absolute.
  LocalResults(Launcher launcher, std::filesystem::path local, std::filesystem::path out)
      : launcher_(std::move(launcher)), local_(std::move(local)), out_(std::move(out)) {}

  const std::filesystem::path& folder() const { return local_; }
  /// To be called before anything is timed: CaseError if the results of `hosts` could not be
  /// collected afterwards. Removes the marks of the ends of earlier runs on the nodes.
  void prepare(const std::set<std::string>& hosts, std::uint64_t nodes, bool resume) const;
  /// Collects the results of the nodes that answer now (`answering` finds their names), and reports
  /// missing results on stderr. Returns failed (7) if anything is missing; it then stays on its
  /// node.
  ExitCode collect(const std::function<std::set<std::string>()>& answering,
                   std::uint64_t nodes) const;

 private:
  std::vector<std::string> command(const std::set<std::string>& hosts, std::uint64_t nodes) const;

  Launcher launcher_;
  std::filesystem::path local_, out_;
};

}  // namespace assay
