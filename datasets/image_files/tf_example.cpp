#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <utility>

#include "datasets/image_files/image_files.hpp"
#include "tf_example.pb.h"

namespace assay {
namespace {

constexpr const char* encoded_feature = "image/encoded";
constexpr const char* label_feature = "image/class/label";

[[noreturn]] void refuse_feature(const char* name, const char* what) {
  throw BadSample(fmt::format("the feature {} {}", name, what));
}

}  // namespace

void parse_example(std::span<const std::uint8_t> bytes, ImageExample& example) {
  tf_example::Example parsed;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw BadSample("the record is not a tf.Example");
  auto& features = *parsed.mutable_features()->mutable_feature();
  const auto encoded = features.find(encoded_feature), label = features.find(label_feature);
  if (encoded == features.end()) refuse_feature(encoded_feature, "is missing");
  if (encoded->second.bytes_list().value_size() != 1)
    refuse_feature(encoded_feature, "is not one text");
  if (label == features.end()) refuse_feature(label_feature, "is missing");
  if (label->second.int64_list().value_size() != 1)
    refuse_feature(label_feature, "is not one integer");
  example.label = label->second.int64_list().value(0);
  example.encoded = std::move(*encoded->second.mutable_bytes_list()->mutable_value(0));
}

std::string example_bytes(const ImageExample& example, ImageSize size, const std::string& format) {
  tf_example::Example message;
  auto& features = *message.mutable_features()->mutable_feature();
  const auto integer = [&](const char* name, std::int64_t value) {
    features[name].mutable_int64_list()->add_value(value);
  };
  features[encoded_feature].mutable_bytes_list()->add_value(example.encoded);
  features["image/format"].mutable_bytes_list()->add_value(format);
  integer(label_feature, example.label);
  integer("image/height", size.height);
  integer("image/width", size.width);
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);  // a map has no order of its own
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace assay
