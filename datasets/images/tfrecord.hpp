#pragma once
// The TFRecord format: a sequence of records. A record is its length (8 bytes, little-endian), a
// checksum of the length (4), the data, and a checksum of the data (4). A checksum is a masked
// CRC-32C.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_file.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {

/// The position of a record in its file.
struct TfRecord {
  std::int64_t offset = 0;  ///< of its length
  std::int64_t bytes = 0;   ///< of its data
  std::uint32_t check = 0;  ///< stored checksum of the data
};

/// The records of a file, found by their lengths. A record with a damaged length ends the list,
/// because the position of the next record is unknown; `fault` then names file and offset.
struct TfRecordIndex {
  std::vector<TfRecord> records;
  std::string fault;
};
/// InputError if the file cannot be read.
TfRecordIndex index_tfrecords(const DataFile& file);

/// Reads the data of a record. BadSample "wrong checksum of the data…"; InputError if the file
/// cannot be read.
void read_tfrecord(const DataFile& file, const TfRecord& record, Bytes& data);

/// The bytes of a record with this data.
std::string tfrecord_bytes(std::string_view data);

}  // namespace assay
