#include "models/input/stage_source.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "datasets/images/read_counter.hpp"
#include "datasets/images/set_files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string make_listing(const std::string& data) {
  const SetFiles set = find_set_files(data);
  json files = json::array();
  for (const std::string& name : set.names) {
    const std::string path = (set.folder / name).string();
    std::error_code failed;
    if (fs::file_size(path, failed) == 0 && !failed) {
      files.push_back({name, 0, ""});
      continue;
    }
    const DataFile file(path);
    files.push_back({name, file.size(), file.identity()});
  }
  try {
    return json({{"folder", set.folder.string()}, {"pattern", set.pattern}, {"files", files}})
        .dump();
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("--stage: a name in the set {} is not UTF-8. Rename its files.", data));
  }
}

}  // namespace

StageListing list_stage_files(const std::string& data, Communicator& ranks) {
  std::string text;
  throw_on_all(ranks, [&] {
    if (ranks.rank() == 0) text = make_listing(data);
  });
  const json listed = json::parse(ranks.allgather(text).front());
  StageListing listing{listed.at("folder").get<std::string>(), listed.at("pattern"), {}};
  for (const json& file : listed.at("files"))
    listing.files.push_back({file.at(0), file.at(1), file.at(2)});
  return listing;
}

std::int64_t count_bytes(const StageChunk& chunk) {
  std::int64_t bytes = 0;
  for (const StagePiece& piece : chunk) bytes += piece.bytes;
  return bytes;
}

std::future<SharedReader::FileRead> SharedReader::start(const StageChunk& chunk) {
  return std::async(std::launch::async, [this, &chunk] {
    const auto start = std::chrono::steady_clock::now();
    ReadCounter counter;
    FileRead part = read(chunk);
    read_bytes += static_cast<double>(counter.requested());
    device_bytes += static_cast<double>(counter.from_device());
    seconds += seconds_since(start);
    return part;
  });
}

SharedReader::FileRead SharedReader::read(const StageChunk& chunk) {
  FileRead part;
  part.bytes.resize(static_cast<std::size_t>(count_bytes(chunk)));
  std::size_t at = 0;
  for (const StagePiece& piece : chunk) {
    const StageFile& file = listing_.files[piece.file];
    if (piece.offset == 0) open_file(file);
    const std::span<char> bytes(part.bytes.data() + at, static_cast<std::size_t>(piece.bytes));
    opened_->read(piece.offset, bytes);
    part.checksums.push_back(stage_checksum(bytes));
    at += bytes.size();
    if (piece.offset + piece.bytes == file.bytes) opened_->check_unchanged();
  }
  return part;
}

void SharedReader::open_file(const StageFile& file) {
  opened_.emplace((listing_.folder / file.name).string());
  if (opened_->identity() == file.version) return;
  throw InputError(
      fmt::format("the data file {} has changed while the set was staged (its size or time of "
                  "modification). Wait until it is complete.",
                  opened_->path()));
}

}  // namespace assay
