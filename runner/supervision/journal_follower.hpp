#pragma once
// Reads a journal while another process appends to it.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace assay {

class JournalFollower {
 public:
  /// Starts at the present end of the file.
  explicit JournalFollower(std::filesystem::path file);
  /// The events appended since the last call. A line that is not complete yet is returned by a
  /// later call.
  std::vector<nlohmann::json> poll();

 private:
  std::filesystem::path file_;
  std::uintmax_t offset_ = 0;
};

}  // namespace assay
