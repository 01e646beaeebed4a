#include <gtest/gtest.h>

#include <numeric>
#include <string_view>

#include "core/base/error.hpp"
#include "tests/datasets/image_files/pictures.hpp"

namespace assay {
namespace test_tf_example {

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

/// A field of length-delimited content, by hand: the wire format itself.
std::string field(int number, const std::string& content) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  text += static_cast<char>(content.size());
  return text + content;
}

std::string feature(const std::string& name, const std::string& value) {
  return field(1, field(1, name) + field(2, value));
}

std::string message_of(const std::string& record) {
  ImageExample example;
  try {
    parse_example(bytes_of(record), example);
  } catch (const BadSample& bad) {
    return bad.what();
  }
  return "";
}

// Values of RFC 3720, B.4.
TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(crc32c(Bytes(32, 0)), 0x8A9136AAu);
  EXPECT_EQ(crc32c(Bytes(32, 0xFF)), 0x62A8AB43u);
  Bytes ascending(32);
  std::iota(ascending.begin(), ascending.end(), std::uint8_t{0});
  EXPECT_EQ(crc32c(ascending), 0x46DD794Eu);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(TfExample, ReadsTheWireFormat) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const std::string label = field(3, field(1, "\xAC\x02"));  // 300, packed
  const std::string image = field(1, field(1, "pixels"));
  ImageExample example;
  parse_example(
      bytes_of(field(1, feature("image/class/label", label) + feature("image/encoded", image) +
                            feature("image/other", image))),
      example);
  EXPECT_EQ(example.encoded, "pixels");
  EXPECT_EQ(example.label, 300);
  // One value that is not packed, as older writers store it.
  parse_example(bytes_of(field(1, feature("image/class/label", field(3, "\x08\x07")) +
                                      feature("image/encoded", image))),
                example);
  EXPECT_EQ(example.label, 7);
}

TEST(TfExample, WhatIsWrittenIsRead) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const ImageExample written{std::string("\0\x01\xFF", 3), 999};
  const std::string record = example_bytes(written, {4, 5}, "JPEG");
  EXPECT_EQ(record, example_bytes(written, {4, 5}, "JPEG"));
  ImageExample read;
  parse_example(bytes_of(record), read);
  EXPECT_EQ(read.encoded, written.encoded);
  EXPECT_EQ(read.label, written.label);
  EXPECT_NE(record.find("image/format"), record.npos);
}

TEST(TfExample, NamesTheFeatureThatIsMissing) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const std::string label = feature("image/class/label", field(3, field(1, "\x01")));
  const std::string image = feature("image/encoded", field(1, field(1, "pixels")));
  EXPECT_EQ(message_of(field(1, label + image)), "");
  EXPECT_EQ(message_of(field(1, label)), "the feature image/encoded is missing");
  EXPECT_EQ(message_of(field(1, image)), "the feature image/class/label is missing");
  EXPECT_EQ(message_of(""), "the feature image/encoded is missing");
  EXPECT_EQ(message_of("\x0A\x7Fx"), "the record is not a tf.Example");
  EXPECT_EQ(message_of(field(1, image + feature("image/class/label", field(1, field(1, "cat"))))),
            "the feature image/class/label is not one integer");
}

TEST(WhyNoImages, SaysHowToGetTheLibraries) {
  if (why_no_images().empty()) GTEST_SKIP() << "all libraries are there";
  EXPECT_NE(why_no_images().find("Configure"), std::string::npos);
  try {
    make_jpeg_decoder();
    FAIL();
  } catch (const CaseError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("unsupported: "));
  }
}

}  // namespace test_tf_example
}  // namespace assay
