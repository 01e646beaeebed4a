#pragma once
// A temporary folder.

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace assay {

/// A folder for the logs of benchmarks that only list their cases. It is removed by the destructor.
/// At most one object per process.
class Scratch final {
 public:
  Scratch() { std::filesystem::create_directories(folder); }
  ~Scratch() {
    std::error_code stays;
    std::filesystem::remove_all(folder, stays);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("assay-{}", getpid());
};

}  // namespace assay
