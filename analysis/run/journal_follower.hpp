#pragma once
// Reads a journal while another process appends to it.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace assay {

class JournalFollower {
 public:
  /// Starts behind what the file holds now.
  explicit JournalFollower(std::filesystem::path file);
  /// Whole events appended since the last call; a line that is still being written waits for the
  /// next one.
  std::vector<nlohmann::json> poll();

 private:
  std::filesystem::path file_;
  std::uintmax_t offset_ = 0;
};

}  // namespace assay
