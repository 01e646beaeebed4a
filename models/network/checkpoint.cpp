#include "models/network/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/result/whole_file.hpp"
#include "datasets/data_file.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "ASSAYCKP";
constexpr std::size_t length_at = 8, check_at = 16, header_at = 20;
/// Format 2 did not identify the training: batch, data and learning rate were missing.
constexpr int version_of_format = 3;
constexpr const char* partial_ending = ".partial";
constexpr const char* byte_order = std::endian::native == std::endian::little ? "little" : "big";

template <class Byte>
std::uint32_t compute_check(std::span<const Byte> bytes) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

void put_number(std::string& text, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xFF);
}

std::uint64_t number_at(std::span<const char> bytes, std::size_t at, int count) {
  std::uint64_t number = 0;
  for (int i = 0; i < count; ++i)
    number |= std::uint64_t{static_cast<std::uint8_t>(bytes[at + static_cast<std::size_t>(i)])}
              << (8 * i);
  return number;
}

/// The CRC-32C of the bytes before the checksum and of the header.
std::uint32_t head_check(std::span<const char> before, std::string_view header) {
  std::string checked(before.begin(), before.begin() + check_at);
  checked += header;
  return compute_check(std::span<const char>(checked));
}

std::string make_head(const std::string& architecture, const json& state,
                      std::span<const CheckpointBlob> blobs) {
  json header = {{"format", version_of_format},
                 {"byte_order", byte_order},
                 {"architecture", architecture},
                 {"state", state},
                 {"blobs", json::array()}};
  for (const CheckpointBlob& blob : blobs)
    header["blobs"].push_back(
        {{"name", blob.name}, {"bytes", blob.bytes.size()}, {"crc32c", compute_check(blob.bytes)}});
  const std::string text = header.dump();
  if (json::parse(text) != header)  // JSON has no NaN and no infinity
    throw std::logic_error("the state of a checkpoint cannot be written as JSON: " + state.dump());
  std::string head(magic);
  put_number(head, text.size(), 8);
  put_number(head, head_check(head, text), 4);
  return head + text;
}

InputError make_unusable_error(
    const std::string& file, const std::string& why,
    const std::string& suggestion = "Use an earlier checkpoint, or start anew.") {
  return InputError(
      fmt::format("{}: cannot be used as a checkpoint ({}). {}", file, why, suggestion));
}

InputError make_truncated_error(const DataFile& file) {
  return make_unusable_error(file.path(),
                             fmt::format("it is truncated: {} bytes are there", file.size()));
}

/// The checked header; `end` is where it ends.
json read_header(const DataFile& file, std::size_t& end) {
  std::vector<char> head(std::min(header_at, static_cast<std::size_t>(file.size())));
  file.read(0, head);
  const std::string_view begin(head.data(), std::min(head.size(), magic.size()));
  if (!magic.starts_with(begin))
    throw make_unusable_error(file.path(), fmt::format("it does not begin with {}", magic),
                              "Name a file that --checkpoint has written.");
  if (head.size() < header_at) throw make_truncated_error(file);
  const std::uint64_t length = number_at(head, length_at, 8);
  if (length > static_cast<std::uint64_t>(file.size()) - header_at)
    throw make_truncated_error(file);
  std::string text(length, '\0');
  file.read(header_at, text);
  if (head_check(head, text) != number_at(head, check_at, 4))
    throw make_unusable_error(file.path(), "its header is damaged: wrong CRC-32C");
  end = header_at + length;
  return json::parse(text);
}

void check_kind(const std::string& file, const json& header, const std::string& architecture) {
  if (header.at("format") != version_of_format)
    throw make_unusable_error(file,
                              fmt::format("its format is {}, this program reads {}",
                                          header.at("format").dump(), version_of_format),
                              "Use the program that has written it.");
  if (header.at("byte_order") != byte_order)
    throw make_unusable_error(
        file,
        fmt::format("its numbers are {}-endian, this processor's are {}-endian",
                    header.at("byte_order").get<std::string>(), byte_order),
        "Continue on a processor as it was written on.");
  if (header.at("architecture") != architecture)
    throw make_unusable_error(
        file,
        fmt::format("it is of {}, this run is of {}", header.at("architecture").get<std::string>(),
                    architecture),
        "Give the options of the run that has written it.");
}

}  // namespace

CheckpointCost write_checkpoint(const std::filesystem::path& file, const std::string& architecture,
                                const json& state, std::span<const CheckpointBlob> blobs) {
  const auto start = std::chrono::steady_clock::now();
  const std::string head = make_head(architecture, state, blobs);
  std::vector<std::string_view> parts = {head};
  for (const CheckpointBlob& blob : blobs)
    parts.emplace_back(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
  try {
    write_parts(file, parts, partial_ending);
  } catch (const InputError& error) {  // not bad input: the name was valid when the run began
    throw CaseError(error.what());
  }
  CheckpointCost cost;
  for (const std::string_view part : parts) cost.bytes += std::ssize(part);
  cost.seconds = seconds_since(start);
  return cost;
}

void expect_no_other_partial(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const fs::path partial = file.string() + partial_ending;
  std::error_code unknown;
  const fs::file_status status = fs::symlink_status(partial, unknown);
  if (is_special(file) || !fs::exists(status)) return;
  std::string begin(magic.size(), '\0');
  if (fs::is_regular_file(status) && fs::hard_link_count(partial, unknown) == 1) {
    std::ifstream stream(partial, std::ios::binary);
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(stream.gcount()));
    if (magic.starts_with(begin)) return;  // also of an empty file
  }
  throw InputError(
      fmt::format("{}: it is there already and would be removed, but is not what a checkpoint "
                  "leaves. Move it, or name another file for the checkpoint.",
                  partial.string()));
}

Checkpoint::Checkpoint(const std::filesystem::path& path, const std::string& architecture)
    : file_(path.string()) {
  const DataFile file(file_);
  try {
    std::size_t at = 0;
    json header = read_header(file, at);
    check_kind(file_, header, architecture);
    const std::string text = header.dump();
    check_ = compute_check(std::span<const char>(text));
    const auto size = static_cast<std::size_t>(file.size());
    for (const json& described : header.at("blobs")) {
      const auto bytes = described.at("bytes").get<std::size_t>();
      if (bytes > size - at) throw make_truncated_error(file);
      Blob blob{described.at("name").get<std::string>(), std::vector<char>(bytes)};
      file.read(static_cast<std::int64_t>(at), blob.bytes);
      if (compute_check(std::span<const char>(blob.bytes)) !=
          described.at("crc32c").get<std::uint32_t>())
        throw make_unusable_error(file_,
                                  fmt::format("its blob {} is damaged: wrong CRC-32C", blob.name));
      at += bytes;
      blobs_.push_back(std::move(blob));
    }
    if (at != size)
      throw make_unusable_error(file_, fmt::format("it has {} bytes behind its end", size - at));
    state_ = std::move(header.at("state"));
  } catch (const json::exception& error) {
    throw make_unusable_error(file_,
                              fmt::format("its header lacks what it must have: {}", error.what()));
  }
  file.check_unchanged();
}

std::span<const std::byte> Checkpoint::bytes(const std::string& name) const {
  const auto place = std::find_if(blobs_.begin(), blobs_.end(),
                                  [&](const Blob& blob) { return blob.name == name; });
  if (place == blobs_.end()) throw make_unusable_error(file_, "it has no blob " + name);
  return std::as_bytes(std::span(place->bytes));
}

void Checkpoint::copy(const std::string& name, std::span<std::byte> out) const {
  const std::span<const std::byte> blob = bytes(name);
  if (blob.size() != out.size())
    throw make_unusable_error(file_, fmt::format("its blob {} has {} bytes, this run needs {}",
                                                 name, blob.size(), out.size()));
  std::copy(blob.begin(), blob.end(), out.begin());
}

}  // namespace assay
