#include "datasets/images/image_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_image_writer {

TEST(GeneratedImages, AreFunctionsOfSeedAndNumber) {
  const auto source = make_generated_images({20, 5, {40, 30}, 3, 0});
  const auto later = make_generated_images({10, 5, {40, 30}, 3, 10});
  const auto other = make_generated_images({20, 5, {40, 30}, 4, 0});
  std::map<std::int64_t, int> labels;
  for (int i = 0; i < 20; ++i) {
    const Picture picture = source->picture(i);
    EXPECT_EQ(std::ssize(picture.pixels), 3 * 40 * 30);
    EXPECT_EQ(picture.pixels, source->picture(i).pixels);
    EXPECT_NE(picture.pixels, other->picture(i).pixels);
    if (i >= 10) {
      EXPECT_EQ(picture.pixels, later->picture(i - 10).pixels);
    }
    EXPECT_TRUE(picture.label >= 0 && picture.label < 5);
    ++labels[picture.label];
  }
  EXPECT_GT(labels.size(), 2u);
  EXPECT_THROW(make_generated_images({0, 5, {40, 30}, 3, 0}), InputError);
  EXPECT_THROW(make_generated_images({1, 5, {40, 30000}, 3, 0}), InputError);
}

/// Stored, so that another processor or compiler that makes other pixels is found out.
TEST(GeneratedImages, AreTheSameEverywhere) {
  const Picture picture = make_generated_images({1, 10, {100, 75}, 1, 6})->picture(0);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : picture.pixels) hash = (hash ^ byte) * 0x100000001b3u;
  EXPECT_EQ(hash, 1458285338773760252u);
}

/// The nearest mean of 8 x 8 colours, from other pictures of the class, tells the class.
TEST(GeneratedImages, ClassesCanBeLearned) {
  const int classes = 10;
  const auto source = make_generated_images({600, classes, {32, 32}, 1, 0});
  const auto features = [](const Picture& picture) {
    std::vector<double> sums(6);  // mean and deviation of each colour: no place of a stripe
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      sums[i % 3] += picture.pixels[i] / 1024.0;
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      sums[3 + i % 3] += std::abs(picture.pixels[i] - sums[i % 3]) / 1024;
    return sums;
  };
  std::vector<std::vector<double>> means(classes, std::vector<double>(6));
  std::vector<int> counts(classes);
  for (int i = 0; i < 400; ++i) {
    const Picture picture = source->picture(i);
    const auto of = features(picture);
    ++counts[static_cast<std::size_t>(picture.label)];
    for (std::size_t f = 0; f < 6; ++f) means[static_cast<std::size_t>(picture.label)][f] += of[f];
  }
  int right = 0;
  for (int i = 400; i < 600; ++i) {
    const Picture picture = source->picture(i);
    const auto of = features(picture);
    std::int64_t nearest = -1;
    double least = 1e30;
    for (int c = 0; c < classes; ++c) {
      double distance = 0;
      for (std::size_t f = 0; f < 6; ++f) {
        const auto at = static_cast<std::size_t>(c);
        const double difference = means[at][f] / counts[at] - of[f];
        distance += difference * difference;
      }
      if (distance < least) least = distance, nearest = c;
    }
    right += nearest == picture.label ? 1 : 0;
  }
  EXPECT_GT(right, 150);  // of 200; by chance 20
}

void expect_same(const ImageSource& source, const SampleSet& set, bool exact) {
  ASSERT_EQ(set.size(), source.size());
  Sample sample;
  for (int i = 0; i < source.size(); ++i) {
    set.read(i, sample);
    const Picture picture = source.picture(i);
    EXPECT_EQ(sample.label, picture.label);
    EXPECT_LE(distance(decoded(sample.encoded), picture.pixels), exact ? 0 : 15);
  }
}

TEST(ImageWriter, TfRecordsComeBack) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const auto source = make_generated_images({21, 4, {48, 32}, 1, 0});
  for (const bool png : {false, true}) {
    ImageSetFormat format;
    format.png = png;
    format.files = 4;
    format.label_base = 1;
    const std::string out = folder / (png ? "png" : "jpeg");
    write_image_set(*source, out, format);
    const auto set = open_samples(out, {1, 4});
    EXPECT_EQ(set->shards(), (std::vector<std::int64_t>{0, 5, 10, 15}));
    expect_same(*source, *set, png);
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "png/png-00003-of-00004.tfrecord"));
}

TEST(ImageWriter, FoldersComeBack) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const auto source = make_generated_images({30, 3, {20, 20}, 1, 0});
  ImageSetFormat format;
  format.tfrecord = false;
  format.png = true;
  write_image_set(*source, folder / "set/", format);
  const auto set = open_samples(folder / "set");
  EXPECT_EQ(set->size(), 30);
  EXPECT_EQ(set->classes(), 3);
  Sample sample;
  for (int i = 0; i < 30; ++i) {  // by class, then by number
    set->read(i, sample);
    const std::string name = std::filesystem::path(set->where(i)).stem();
    const Picture picture = source->picture(std::stoi(name));
    EXPECT_EQ(sample.label, picture.label);
    EXPECT_EQ(decoded(sample.encoded), picture.pixels);
  }
}

TEST(ImageWriter, ATableBecomesImages) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const auto source = make_table_images("tests/models/data/digits.csv", 1500, 0, 16);
  EXPECT_EQ(source->size(), 297);
  EXPECT_EQ(source->classes(), 10);
  const auto table = open_table("tests/models/data/digits.csv");
  const Rows row = read_rows(*table, 1503, 1);
  const Picture picture = source->picture(3);
  EXPECT_EQ(static_cast<double>(picture.label), row.labels[0]);
  EXPECT_EQ(picture.size, (ImageSize{16, 16}));
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x)
      EXPECT_EQ(picture.pixels[static_cast<std::size_t>(3 * (16 * y + x) + 1)],
                std::lround(row.x[static_cast<std::size_t>(y / 2 * 8 + x / 2)] * 255 / 16));

  const std::string csv = folder.write("a.csv", "a,b,c,label\n1,2,3,0\n");
  EXPECT_NE(message_of<InputError>([&] { make_table_images(csv); }).find("not a square image"),
            std::string::npos);
  const std::string plain = folder.write("b.csv", "1,2,3,4\n");
  EXPECT_NE(message_of<InputError>([&] { make_table_images(plain); }).find("no labels"),
            std::string::npos);
  const std::string half = folder.write("c.csv", "a,label\n1,0.5\n");
  EXPECT_NE(message_of<InputError>([&] { make_table_images(half); }).find("0.5"),
            std::string::npos);
  EXPECT_THROW(make_table_images("tests/models/data/digits.csv", 1797), InputError);
  EXPECT_THROW(make_table_images("tests/models/data/digits.csv", 0, 0, 12), InputError);
}

TEST(ImageWriter, NothingIsOverwrittenOrLeft) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("there", "x");
  const auto source = make_generated_images({3, 3, {20, 20}, 1, 0});
  ImageSetFormat format;
  EXPECT_NE(message_of<InputError>([&] {
              write_image_set(*source, folder / "there", format);
            }).find("exists"),
            std::string::npos);
  format.files = 4;
  EXPECT_THROW(write_image_set(*source, folder / "new", format), InputError);
  EXPECT_THROW(write_image_set(*source, folder / "no/such", {}), CaseError);
  EXPECT_EQ(content_of(folder / "there"), "x");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
}

}  // namespace test_image_writer
}  // namespace assay
