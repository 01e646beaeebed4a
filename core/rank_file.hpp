#pragma once
// A file that a rank holds open as long as it lives. The kernel closes it when the rank dies,
// however it dies, and tells whoever watches the folder (inotify), in the order of the closings.

#include <filesystem>
#include <string>

namespace assay {

/// The name of a rank's file, in the folder of the journal.
std::string rank_file_name(const std::string& benchmark, int launch, int attempt, int rank);

class RankFile final {
 public:
  /// Makes the file. Where that cannot be, there is none: it serves a hint alone.
  explicit RankFile(const std::filesystem::path& file);
  /// Closes it, then removes it. A rank that leaves by an exception closes it before it ends the
  /// job.
  ~RankFile();
  RankFile(const RankFile&) = delete;
  RankFile& operator=(const RankFile&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace assay
