#include "runner/supervision/left_segments.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runner/supervision/stopped.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

const std::string folder = "/dev/shm/";

/// Names in /dev/shm that a process has mapped.
void add_mapped(const fs::path& process, std::set<std::string>& names) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t at = line.find(" " + folder); at != std::string::npos) {
      const std::string name = line.substr(at + 1 + folder.size());
      if (name.find(" (deleted)") == std::string::npos) names.insert(name);
    }
}

}  // namespace

LeftSegments::LeftSegments() {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    before_.insert(entry.path().filename().string());
}

void LeftSegments::look() {
  for (const int process : descendants()) add_mapped("/proc/" + std::to_string(process), mapped_);
}

std::vector<std::string> LeftSegments::remove() const {
  std::set<std::string> in_use;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none))
    if (entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos)
      add_mapped(entry.path(), in_use);
  std::vector<std::string> removed;
  for (const std::string& name : mapped_)
    if (!before_.contains(name) && !in_use.contains(name) && unlink((folder + name).c_str()) == 0)
      removed.push_back(name);
  return removed;
}

}  // namespace assay
