#pragma once
// Sets of files for the tests of staging. Their contents are no images: staging does not look.

#include <filesystem>
#include <string>

#include "tests/datasets/images/image_sets.hpp"

namespace assay {

/// `bytes` bytes that differ between files and places.
inline std::string stage_content(int file, std::size_t bytes) {
  std::string content(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    content[i] = static_cast<char>(31 * static_cast<std::size_t>(file) + i * i / 7 + i);
  return content;
}

inline constexpr std::size_t stage_sizes[] = {5000, 100, 0, 40, 2500, 1000, 1};
inline constexpr double stage_sum = 5000 + 100 + 40 + 2500 + 1000 + 1;

/// Seven files "shared/x-<i>.tfrecord"; returns the folder.
inline std::string write_stage_set(const Folder& folder) {
  std::filesystem::create_directories(folder / "shared");
  for (int i = 0; i < static_cast<int>(std::size(stage_sizes)); ++i)
    folder.write("shared/x-" + std::to_string(i) + ".tfrecord", stage_content(i, stage_sizes[i]));
  return folder / "shared";
}

inline void flip_byte(const std::string& file, std::size_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(byte);
}

}  // namespace assay
