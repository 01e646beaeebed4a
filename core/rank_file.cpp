#include "core/rank_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace assay {

std::string rank_file_name(const std::string& benchmark, int launch, int attempt, int rank) {
  return fmt::format("rank-{}-{}-{}-{}", launch, attempt, benchmark, rank);
}

RankFile::RankFile(const std::filesystem::path& file)
    : file_(file), descriptor_(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) return;
  // Of a process that dies, Linux closes the files of higher numbers first since 4.3 (fput makes a
  // stack of them). So this one is closed before the sockets are by which launchers and ranks learn
  // of the death, and kill the others.
  constexpr int high = 1000;  // below 1024, which is the usual limit
  const int higher = fcntl(descriptor_, F_DUPFD_CLOEXEC, high);
  if (higher < 0) return;
  close(descriptor_);
  descriptor_ = higher;
}

RankFile::~RankFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(file_.c_str());
}

}  // namespace assay
