#include "runner/supervision/journal_follower.hpp"

#include <fstream>
#include <string>
#include <string_view>

#include "core/result/journal.hpp"

namespace assay {

namespace {

std::uintmax_t size_of_file(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

JournalFollower::JournalFollower(std::filesystem::path file)
    : file_(std::move(file)), offset_(size_of_file(file_)) {}

std::vector<nlohmann::json> JournalFollower::poll() {
  const std::uintmax_t size = size_of_file(file_);
  if (size <= offset_) return {};
  std::string text(size - offset_, '\0');
  std::ifstream stream(file_, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset_));
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  std::vector<nlohmann::json> events;
  std::size_t from = 0;
  for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    // A line torn by a death is no event; read_journal judges the whole file at the end.
    nlohmann::json event = journal_event(std::string_view(text).substr(from, end - from));
    if (!event.is_discarded()) events.push_back(std::move(event));
  }
  offset_ += from;
  return events;
}

}  // namespace assay
