#pragma once
// A temporary folder.

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/limits.hpp"
#include "core/base/temporary.hpp"

namespace assay {

/// A folder for the logs of benchmarks that only list their cases. At most one object per process.
class Scratch final {
  const Temporary made_{temporary_folder() / fmt::format("assay-{}", getpid())};

 public:
  Scratch() { std::filesystem::create_directories(folder); }
  const std::filesystem::path& folder = made_.path();
};

}  // namespace assay
