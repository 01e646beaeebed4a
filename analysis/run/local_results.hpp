#pragma once
// `assay run --per-node --local-results`: the nodes share no file system, so each writes into a
// folder of its own disk, and `assay collect` brings the folders together over MPI.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "analysis/launch/launcher.hpp"
#include "analysis/run/many_runs.hpp"

namespace assay {

class LocalResults final {
 public:
  /// `local`: of every node; `out`: of this process and of the first node. Both are absolute.
  LocalResults(Launcher launcher, std::filesystem::path local, std::filesystem::path out)
      : launcher_(std::move(launcher)), local_(std::move(local)), out_(std::move(out)) {}

  const std::filesystem::path& folder() const { return local_; }
  /// Before anything is timed: CaseError if the results of `hosts` could not be collected. Forgets
  /// the ends of earlier runs on the nodes.
  void prepare(const std::set<std::string>& hosts, std::uint64_t nodes) const;
  /// Collects from the nodes that answer now, some of which may be lost, and tells on stderr what
  /// is not there. failed (7) where anything is not; then it stays on its node.
  ExitCode collect(const std::function<std::set<std::string>()>& answering,
                   std::uint64_t nodes) const;

 private:
  std::vector<std::string> command(const std::set<std::string>& hosts, std::uint64_t nodes) const;

  Launcher launcher_;
  std::filesystem::path local_, out_;
};

}  // namespace assay
