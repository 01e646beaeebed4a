#include "models/input/stage_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/result/whole_file.hpp"
#include "datasets/data_file.hpp"
#include "datasets/image_files/image_files.hpp"
#include "datasets/images/process_io.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* manifest_schema = "assay-stage/1";
constexpr const char* own_names = ".assay-stage.";  // prefix of the names
constexpr double between_saves_s = 0.5;             // between writes of the manifest, and at least
constexpr double between_saves = 20;                // times the seconds of the last write

InputError make_folder_error(const fs::path& folder, const std::string& why,
                             const std::string& cure) {
  return InputError(fmt::format("--stage {}: {}. {}", folder.string(), why, cure));
}

InputError foreign_file(const fs::path& folder, const std::string& name) {
  return make_folder_error(folder, fmt::format("has {}, which no staging has put there", name),
                           "Name a new or an empty folder.");
}

bool is_manifest(const json& manifest) {
  if (!manifest.is_object() || manifest.value("schema", json()) != manifest_schema ||
      !manifest.value("piece", json()).is_number_integer() || !manifest.contains("files") ||
      !manifest["files"].is_array())
    return false;
  return std::all_of(manifest["files"].begin(), manifest["files"].end(), [](const json& entry) {
    return entry.is_object() && entry.value("name", json()).is_string() &&
           entry.value("state", json()).is_string() && entry.contains("bytes") &&
           entry.contains("version") &&
           (entry["state"] != "whole" || entry.value("crc32c", json()).is_number_unsigned());
  });
}

/// The checksum of a file: that of its only piece, or the checksum of its pieces' checksums.
std::uint32_t checksum_of_pieces(const std::vector<std::uint32_t>& pieces) {
  if (pieces.size() == 1) return pieces.front();
  std::vector<char> bytes;
  for (const std::uint32_t piece : pieces)
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(piece >> (8 * i) & 0xFF));
  return stage_checksum(bytes);
}

/// The checksums of the pieces of a file; nothing unless it is a regular file of this size that
/// can be read.
std::optional<std::uint32_t> checksum_of_file(const fs::path& path, std::int64_t bytes,
                                              std::int64_t piece) {
  std::error_code missing;
  if (!fs::is_regular_file(fs::symlink_status(path, missing))) return std::nullopt;
  if (bytes == 0) {
    if (fs::file_size(path, missing) != 0 || missing) return std::nullopt;
    return checksum_of_pieces({});
  }
  try {
    const DataFile file(path.string());
    if (file.size() != bytes) return std::nullopt;
    std::vector<std::uint32_t> pieces;
    std::vector<char> buffer(static_cast<std::size_t>(std::min(bytes, piece)));
    for (std::int64_t at = 0; at < bytes; at += piece) {
      const std::span<char> part(buffer.data(),
                                 static_cast<std::size_t>(std::min(piece, bytes - at)));
      file.read(at, part);
      pieces.push_back(stage_checksum(part));
    }
    return checksum_of_pieces(pieces);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

std::uint32_t stage_checksum(std::span<const char> bytes) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

StageFolder::StageFolder(fs::path folder, std::vector<StageFile> files, std::int64_t piece)
    : folder_(std::move(folder)),
      files_(std::move(files)),
      piece_(piece),
      checksums_(files_.size()),
      of_pieces_(files_.size()) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error && !fs::is_directory(folder_))
    throw make_folder_error(folder_, fmt::format("cannot be made ({})", error.message()),
                            "Name a folder that you may write to.");
  survive_size_limit();
  lock();
  const std::vector<std::optional<std::uint32_t>> known = read_manifest();
  const fs::path unfinished = folder_ / stage_partial;
  fs::remove_all(unfinished, error);
  if (!error) fs::create_directory(unfinished, error);
  if (error) cannot_write(unfinished, error.value());
  keep_whole(known);
  save();  // records the names as staged files
  make_empty_files();
}

void StageFolder::lock() {
  const fs::path file = folder_ / stage_lock;
  lock_.emplace(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock_->number() < 0)
    throw make_folder_error(folder_, fmt::format("cannot be written ({})", words_of_error(errno)),
                            "Name a folder that you may write to.");
  if (::flock(lock_->number(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK)
    throw make_folder_error(folder_, "another job has this folder (its lock is held)",
                            "Wait until that has ended, or name another folder.");
  throw make_folder_error(folder_, fmt::format("cannot be locked ({})", words_of_error(errno)),
                          "Name a folder on a disk of the node.");
}

std::vector<std::optional<std::uint32_t>> StageFolder::read_manifest() {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < files_.size(); ++i) index.emplace(files_[i].name, i);
  std::vector<std::optional<std::uint32_t>> known(files_.size());
  std::ifstream stream(folder_ / stage_manifest, std::ios::binary);
  const json manifest = stream ? json::parse(stream, nullptr, false) : json();
  if (!is_manifest(manifest)) {
    expect_empty();
    return known;
  }
  std::vector<char> named(files_.size());
  for (const json& entry : manifest.at("files")) {
    const auto name = entry.at("name").get<std::string>();
    const auto position = index.find(name);
    if (position == index.end())
      throw make_folder_error(folder_, fmt::format("has {}, of another set", name),
                              "Remove the folder, or name another one.");
    const StageFile& file = files_[position->second];
    named[position->second] = 1;
    if (entry.at("state") != "whole" || manifest.at("piece") != piece_) continue;
    if (entry.at("bytes") == file.bytes && entry.at("version") == file.version)
      known[position->second] = entry.at("crc32c").get<std::uint32_t>();
    else
      ++replaced_;  // the shared file has been replaced
  }
  std::error_code missing;
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (named[i] == 0 && fs::exists(fs::symlink_status(path(i), missing)))
      throw foreign_file(folder_, files_[i].name);
  return known;
}

void StageFolder::expect_empty() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(own_names)) throw foreign_file(folder_, name);
  }
}

void StageFolder::keep_whole(const std::vector<std::optional<std::uint32_t>>& known) {
  for_each_parallel(std::ssize(files_), [&](std::int64_t i) {
    const auto file = static_cast<std::size_t>(i);
    if (known[file] && checksum_of_file(path(file), files_[file].bytes, piece_) == known[file])
      checksums_[file] = known[file];
  });
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (checksums_[i]) continue;
    if (known[i]) ++replaced_;
    std::error_code error;
    fs::remove(path(i), error);
    if (error) cannot_write(path(i), error.value());
  }
}

void StageFolder::make_empty_files() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].bytes > 0 || checksums_[i]) continue;
    fs::create_directories(path(i).parent_path());
    const FileDescriptor file(
        ::open(path(i).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.number() < 0) cannot_write(path(i), errno);
    checksums_[i] = checksum_of_pieces({});
  }
}

fs::path StageFolder::partial(std::size_t file) const {
  return folder_ / stage_partial / std::to_string(file);
}

void StageFolder::cannot_write(const fs::path& file, int error) const {
  throw CaseError(
      fmt::format("--stage: {} cannot be written ({}). Free space, or name a folder on a larger "
                  "disk; files that are complete stay, and the next run stages the others.",
                  file.string(), words_of_error(error)));
}

void StageFolder::put(const StagePiece& piece, std::span<const char> bytes,
                      std::uint32_t checksum) {
  if (whole(piece.file)) return;
  if (stage_checksum(bytes) != checksum)
    throw CaseError(
        fmt::format("--stage: bytes {} to {} of {} have arrived with another checksum than they "
                    "were read with. Check the network and the memory of this node.",
                    piece.offset, piece.offset + piece.bytes, files_[piece.file].name));
  const fs::path file = partial(piece.file);
  const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (piece.offset == 0 ? O_CREAT | O_EXCL : 0);
  FileDescriptor out(::open(file.c_str(), flags, 0666));
  if (out.number() < 0) cannot_write(path(piece.file), errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::pwrite(out.number(), bytes.data() + done, bytes.size() - done,
                 static_cast<off_t>(piece.offset + static_cast<std::int64_t>(done)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_write(path(piece.file), errno);
    done += static_cast<std::size_t>(count);
  }
  of_pieces_[piece.file].push_back(checksum);
  const bool last = piece.offset + piece.bytes == files_[piece.file].bytes;
  if (last && ::fsync(out.number()) != 0) cannot_write(path(piece.file), errno);
  if (out.close() != 0) cannot_write(path(piece.file), errno);
  if (last) complete(piece.file);
}

void StageFolder::complete(std::size_t file) {
  const fs::path written = partial(file);
  drop_from_cache({written.string()});
  const std::uint32_t expected = checksum_of_pieces(std::exchange(of_pieces_[file], {}));
  if (checksum_of_file(written, files_[file].bytes, piece_) != expected)
    throw CaseError(
        fmt::format("--stage: {} does not read back as it was written. Check the disk of this "
                    "node, or name a folder on another one.",
                    path(file).string()));
  std::error_code error;
  fs::create_directories(path(file).parent_path(), error);
  if (!error) fs::rename(written, path(file), error);
  if (error) cannot_write(path(file), error.value());
  checksums_[file] = expected;
  if (seconds_since(saved_) > std::max(between_saves_s, between_saves * save_s_)) save();
}

void StageFolder::save() {
  const auto start = std::chrono::steady_clock::now();
  json manifest = {{"schema", manifest_schema}, {"piece", piece_}, {"files", json::array()}};
  for (std::size_t i = 0; i < files_.size(); ++i) {
    json entry = {{"name", files_[i].name},
                  {"bytes", files_[i].bytes},
                  {"version", files_[i].version},
                  {"state", checksums_[i] ? "whole" : "missing"}};
    if (checksums_[i]) entry["crc32c"] = *checksums_[i];
    manifest["files"].push_back(std::move(entry));
  }
  try {
    const std::string text = manifest.dump(1) + "\n";
    const std::string_view part = text;
    write_parts(folder_ / stage_manifest, std::span(&part, 1), ".partial");
  } catch (const InputError& error) {
    throw CaseError(fmt::format("--stage: {}", error.what()));
  }
  saved_ = std::chrono::steady_clock::now();
  save_s_ = seconds_since(start);
}

void StageFolder::give_up() {
  std::error_code stays;
  fs::remove_all(folder_ / stage_partial, stays);
  save();
}

std::string StageFolder::fault() const {
  std::vector<char> wrong(files_.size());
  for_each_parallel(std::ssize(files_), [&](std::int64_t i) {
    const auto file = static_cast<std::size_t>(i);
    wrong[file] = !checksums_[file] ||
                  checksum_of_file(path(file), files_[file].bytes, piece_) != checksums_[file];
  });
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  if (first == wrong.end()) return "";
  return fmt::format("{} is not what was staged (its size or checksum differs)",
                     path(static_cast<std::size_t>(first - wrong.begin())).string());
}

}  // namespace assay
