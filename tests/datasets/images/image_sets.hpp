#pragma once
// Small sets of images that tests write.

#include <fstream>
#include <sstream>
#include <string>

#include "datasets/images/sample_set.hpp"
#include "datasets/images/tfrecord.hpp"
#include "tests/datasets/data_files.hpp"
#include "tests/datasets/image_files/pictures.hpp"

namespace assay {

/// Sample i of a test: its size differs from its neighbours', its class is i % 5.
inline ImageSize test_size(int i) { return {60 + 7 * (i % 4), 48 + 5 * (i % 3)}; }
inline Bytes test_image(int i) { return encode_jpeg(picture(test_size(i), i), test_size(i), 85); }
inline std::int64_t test_label(int i) { return i % 5; }

inline std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

inline std::string test_record(int i, std::int64_t label_base = 0) {
  return tfrecord_bytes(
      example_bytes({text_of(test_image(i)), test_label(i) + label_base}, test_size(i), "JPEG"));
}

/// `count` samples in `shards` files "train-0…" of a test's folder; returns the prefix.
inline std::string write_test_set(const Folder& folder, int count, int shards = 1,
                                  std::int64_t label_base = 0) {
  for (int shard = 0; shard < shards; ++shard) {
    std::string records;
    for (int i = shard * count / shards; i < (shard + 1) * count / shards; ++i)
      records += test_record(i, label_base);
    folder.write("train-" + std::to_string(shard), records);
  }
  return folder / "train-";
}

inline std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// The message of the exception `Error` that `body` throws; "" without one.
template <class Error, class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace assay
