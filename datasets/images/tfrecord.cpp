#include "datasets/images/tfrecord.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::int64_t head_bytes = 12, check_bytes = 4;

std::uint64_t number(const std::uint8_t* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

void append(std::string& text, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
}

/// A CRC of data that contain CRCs is weak, so TensorFlow rotates it and adds a constant.
std::uint32_t mask_crc(std::span<const std::uint8_t> bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

void read_into(const DataFile& file, std::int64_t offset, std::span<std::uint8_t> out) {
  file.read(offset, {reinterpret_cast<char*>(out.data()), out.size()});
}

}  // namespace

TfRecordIndex index_tfrecords(const DataFile& file) {
  TfRecordIndex index;
  const auto refuse = [&](std::int64_t offset, const std::string& problem) {
    index.fault = fmt::format("{}, offset {}: {}; what follows in this file is not used",
                              file.path(), offset, problem);
  };
  std::array<std::uint8_t, check_bytes + head_bytes> between{};  // a check, and the next head
  const auto head = std::span(between).subspan(check_bytes);
  std::int64_t offset = 0;
  while (offset < file.size()) {
    // The check of the previous record is adjacent to this head: one read gets both.
    const std::int64_t before = index.records.empty() ? 0 : check_bytes;
    const std::int64_t left = file.size() - offset;
    const auto got = static_cast<std::size_t>(before + std::min(left, head_bytes));
    read_into(file, offset - before,
              std::span(between).subspan(static_cast<std::size_t>(check_bytes - before), got));
    if (before > 0)
      index.records.back().check = static_cast<std::uint32_t>(number(between.data(), 4));
    if (left < head_bytes) {
      refuse(offset, fmt::format("a truncated record ({} bytes are left)", left));
      return index;
    }
    if (mask_crc(head.first(8)) != number(head.data() + 8, 4)) {
      refuse(offset, "wrong checksum of a record's length");
      return index;
    }
    const std::uint64_t bytes = number(head.data(), 8);
    const std::int64_t room = left - head_bytes - check_bytes;
    if (room < 0 || bytes > static_cast<std::uint64_t>(room)) {
      refuse(offset, fmt::format("a truncated record ({} bytes of data, {} bytes are left)", bytes,
                                 left - head_bytes));
      return index;
    }
    index.records.push_back({offset, static_cast<std::int64_t>(bytes), 0});
    offset += head_bytes + static_cast<std::int64_t>(bytes) + check_bytes;
  }
  if (!index.records.empty()) {
    read_into(file, offset - check_bytes, std::span(between).first(check_bytes));
    index.records.back().check = static_cast<std::uint32_t>(number(between.data(), 4));
  }
  return index;
}

void read_tfrecord(const DataFile& file, const TfRecord& record, Bytes& data) {
  data.resize(static_cast<std::size_t>(record.bytes));
  read_into(file, record.offset + head_bytes, data);
  if (mask_crc(data) != record.check)
    throw BadSample("wrong checksum of a record's data (CRC-32C)");
}

std::string tfrecord_bytes(std::string_view data) {
  const auto to_bytes = [](std::string_view text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  std::string record;
  append(record, data.size(), 8);
  append(record, mask_crc(to_bytes(record)), 4);
  record += data;
  append(record, mask_crc(to_bytes(data)), 4);
  return record;
}

}  // namespace assay
