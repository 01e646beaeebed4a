#include <gtest/gtest.h>

#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_tfrecord_set {

constexpr SampleSetOptions five{0, 5};

std::string bad_sample(const SampleSet& set, std::int64_t index) {
  Sample sample;
  return message_of<BadSample>([&] { set.read(index, sample); });
}

TEST(TfRecordSet, SamplesComeInTheOrderOfFilesAndRecords) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string prefix = write_test_set(folder, 11, 3, 1);
  for (const std::string& path : {prefix, prefix + "*"}) {
    const auto set = open_samples(path, {1, 5});
    ASSERT_EQ(set->size(), 11);
    EXPECT_EQ(set->classes(), 5);
    EXPECT_EQ(set->shards(), (std::vector<std::int64_t>{0, 3, 7}));
    EXPECT_TRUE(set->faults().empty());
    Sample sample;
    for (int i = 10; i >= 0; --i) {
      set->read(i, sample);
      EXPECT_EQ(sample.encoded, test_image(i)) << i;
      EXPECT_EQ(sample.label, test_label(i));
    }
    EXPECT_EQ(set->where(3), prefix + "1, offset 0");
  }
}

TEST(TfRecordSet, TheNameOfTheSetHoldsItsContent) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder a, b;
  const std::string name = open_samples(write_test_set(a, 6, 2), five)->canonical();
  EXPECT_TRUE(name.starts_with("tfrecord:n6c5:")) << name;
  EXPECT_EQ(open_samples(write_test_set(b, 6, 1), five)->canonical(), name);
  std::string records;
  for (const int i : {0, 1, 2, 3, 5, 4}) records += test_record(i);
  const Folder c;
  c.write("train-0", records);
  EXPECT_NE(open_samples(c / "train-", five)->canonical(), name);
}

TEST(TfRecordSet, AWrongCheckOfDataIsOneBadSample) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  std::string second = test_record(1);
  second[100] = static_cast<char>(second[100] ^ 1);
  folder.write("x.tfrecord", test_record(0) + second + test_record(2));
  const auto set = open_samples(folder / "x.tfrecord", five);
  ASSERT_EQ(set->size(), 3);
  EXPECT_EQ(bad_sample(*set, 0), "");
  EXPECT_EQ(bad_sample(*set, 2), "");
  EXPECT_EQ(bad_sample(*set, 1), folder / "x.tfrecord" + ", offset " +
                                     std::to_string(test_record(0).size()) +
                                     ": wrong checksum of a record's data (CRC-32C)");
}

TEST(TfRecordSet, AWrongCheckOfALengthEndsTheFile) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string first = test_record(0);
  for (const std::size_t byte : {0u, 7u, 8u, 11u}) {
    std::string second = test_record(1);
    second[byte] = static_cast<char>(second[byte] ^ 0x20);
    folder.write("a.tfrecord", first + second + test_record(2));
    folder.write("b.tfrecord", test_record(3));
    const auto set = open_samples(folder / "", five);
    EXPECT_EQ(set->size(), 2);
    ASSERT_EQ(set->faults().size(), 1u);
    EXPECT_EQ(set->faults()[0], folder / "a.tfrecord" + ", offset " + std::to_string(first.size()) +
                                    ": wrong checksum of a record's length; what follows in this "
                                    "file is not used");
    EXPECT_EQ(bad_sample(*set, 1), "");
  }
}

TEST(TfRecordSet, ATruncatedRecordIsAFault) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string first = test_record(0), second = test_record(1);
  for (const std::size_t kept :
       {std::size_t{1}, std::size_t{11}, std::size_t{12}, std::size_t{15}, second.size() - 1}) {
    folder.write("a.tfrecord", first + second.substr(0, kept));
    const auto set = open_samples(folder / "a.tfrecord", five);
    EXPECT_EQ(set->size(), 1);
    ASSERT_EQ(set->faults().size(), 1u) << kept;
    EXPECT_NE(set->faults()[0].find(", offset " + std::to_string(first.size())), std::string::npos);
    EXPECT_NE(set->faults()[0].find("a truncated record"), std::string::npos);
    EXPECT_EQ(bad_sample(*set, 0), "");
  }
}

TEST(TfRecordSet, WhatIsNoTfRecordIsRefused) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("a.tfrecord", "this is a text and not a record");
  EXPECT_NE(message_of<InputError>([&] {
              open_samples(folder / "a.tfrecord");
            }).find("offset 0: wrong checksum of a record's length"),
            std::string::npos);
}

TEST(TfRecordSet, LabelsOutOfRangeAreBadSamples) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string prefix = write_test_set(folder, 5);  // labels 0 to 4
  const auto from_one = open_samples(prefix, {1, 5});
  EXPECT_EQ(bad_sample(*from_one, 0), prefix + "0, offset 0: the label 0 is out of range (1 to 5)");
  EXPECT_EQ(bad_sample(*from_one, 1), "");
  const auto four = open_samples(prefix, {0, 4});
  EXPECT_EQ(bad_sample(*four, 3), "");
  EXPECT_NE(bad_sample(*four, 4).find("the label 4 is out of range (0 to 3)"), std::string::npos);
}

TEST(TfRecordSet, AMissingFeatureNamesFileAndOffset) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("a.tfrecord", test_record(0) + tfrecord_bytes(""));
  EXPECT_EQ(bad_sample(*open_samples(folder / "a.tfrecord", five), 1),
            folder / "a.tfrecord" + ", offset " + std::to_string(test_record(0).size()) +
                ": the feature image/encoded is missing");
}

TEST(TfRecordSet, AShardWithoutBytesHasNoSamples) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("a.tfrecord", "");
  EXPECT_NE(message_of<InputError>([&] { open_samples(folder / ""); }).find("has no sample"),
            std::string::npos);
  folder.write("b.tfrecord", test_record(4));
  folder.write("c.tfrecord", "");
  folder.write("d.tfrecord", test_record(3));
  const auto set = open_samples(folder / "", five);
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->shards(), (std::vector<std::int64_t>{0, 1}));
  Sample sample;
  set->read(0, sample);
  EXPECT_EQ(sample.label, 4);
  set->read(1, sample);
  EXPECT_EQ(sample.label, 3);
}

TEST(TfRecordSet, AFileThatShrinksIsAnErrorOfTheInput) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string prefix = write_test_set(folder, 3);
  const auto set = open_samples(prefix, five);
  std::filesystem::resize_file(prefix + "0", test_record(0).size() + 20);
  EXPECT_EQ(bad_sample(*set, 0), "");
  Sample sample;
  EXPECT_NE(message_of<InputError>([&] { set->read(2, sample); }).find("has become shorter"),
            std::string::npos);
}

TEST(TfRecordSet, TheNameOfAFileOrFolderThatExistsIsNoPattern) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("data1", test_record(1));
  folder.write("data[1]", test_record(2) + test_record(3));
  EXPECT_EQ(open_samples(folder / "data[1]", five)->size(), 2);
  EXPECT_EQ(open_samples(folder / "data[0-9]", five)->size(), 1);
  for (const char* name : {"job", "job[1]"}) std::filesystem::create_directory(folder / name);
  folder.write("job/a.tfrecord", test_record(0));
  folder.write("job[1]/a.tfrecord", test_record(1) + test_record(2));
  for (const char* path : {"job[1]", "job[1]/", "job[1]/a", "job[1]/*", "job[1]/a.tfrecord"})
    EXPECT_EQ(open_samples(folder / path, five)->size(), 2) << path;
  EXPECT_EQ(open_samples(folder / "jo[b]/a*", five)->size(), 1);
}

TEST(TfRecordSet, AShardThatCannotBeReadIsRefusedByName) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("a.tfrecord", test_record(0));
  std::filesystem::create_symlink("nowhere", folder / "b.tfrecord");
  for (const char* path : {"", "*.tfrecord", "b.tfrecord", "b"})
    EXPECT_NE(
        message_of<InputError>([&] { open_samples(folder / path, five); }).find("b.tfrecord (No"),
        std::string::npos)
        << path;
  std::filesystem::remove(folder / "b.tfrecord");
  std::filesystem::create_directory(folder / "b.tfrecord");  // and a folder is no shard
  EXPECT_EQ(open_samples(folder / "", five)->size(), 1);
}

TEST(TfRecordSet, AllShardsThatThePathNamesMustBeThere) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  for (const char* number : {"00000", "00001", "00003"})
    folder.write("train-" + std::string(number) + "-of-00004.tfrecord", test_record(0));
  for (const char* path : {"", "train-", "train*", "train-0000*"})
    EXPECT_NE(message_of<InputError>([&] {
                open_samples(folder / path, five);
              }).find("train-00002-of-00004.tfrecord is missing; 3 of its 4 shards"),
              std::string::npos)
        << path;
  EXPECT_EQ(open_samples(folder / "train-0000[01]*", five)->size(), 2);
  EXPECT_EQ(open_samples(folder / "train-00003-of-00004.tfrecord", five)->size(), 1);
  folder.write("train-00002-of-00004.tfrecord", test_record(0));
  EXPECT_EQ(open_samples(folder / "train-", five)->size(), 4);
  for (const char* number : {"1", "2"})  // some programs count from 1
    folder.write("test-" + std::string(number) + "-of-2", test_record(0));
  EXPECT_EQ(open_samples(folder / "test-", five)->size(), 2);
}

TEST(TfRecordSet, AFolderWithTfRecordsMayHaveSubfolders) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  folder.write("a.tfrecord", test_record(0));
  for (const char* name : {".cache", "logs"}) std::filesystem::create_directory(folder / name);
  EXPECT_EQ(open_samples(folder / "", five)->size(), 1);
  folder.write("logs/a.png", "");  // either may be the set
  EXPECT_NE(message_of<InputError>([&] { open_samples(folder / "", five); }).find("has TFRecords"),
            std::string::npos);
}

TEST(TfRecordSet, AMissingSetIsRefused) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  for (const std::string& path : {folder / "nothing-", folder / "no/such", folder / "*.x"})
    EXPECT_NE(message_of<InputError>([&] { open_samples(path); }), "") << path;
}

}  // namespace test_tfrecord_set
}  // namespace assay
