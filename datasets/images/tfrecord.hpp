#pragma once
// The TFRecord format: records one after the other, each a length (8 bytes, little-endian), a check
// of the length (4), the data, a check of the data (4). A check is a masked CRC-32C.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_file.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {

/// Where a record is in its file.
struct TfRecord {
  std::int64_t offset = 0;  ///< of its length
  std::int64_t bytes = 0;   ///< of its data
  std::uint32_t check = 0;  ///< as stored behind the data
};

/// The records of a file, by their lengths alone. A record whose length cannot be trusted ends the
/// list, since nothing tells where the next one begins: `fault` then names file and offset.
struct TfRecordIndex {
  std::vector<TfRecord> records;
  std::string fault;
};
/// InputError: the file cannot be read.
TfRecordIndex index_tfrecords(const DataFile& file);

/// The data of a record. BadSample "wrong checksum of the data…"; InputError: the file cannot be
/// read.
void read_tfrecord(const DataFile& file, const TfRecord& record, Bytes& data);

/// The bytes of a record with this data.
std::string tfrecord_bytes(std::string_view data);

}  // namespace assay
