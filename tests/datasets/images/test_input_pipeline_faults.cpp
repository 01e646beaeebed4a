#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "datasets/images/epoch_order.hpp"
#include "tests/datasets/images/pipelines.hpp"

namespace assay {
namespace test_input_pipeline_faults {

class PipelineFaults : public ::testing::Test {
 protected:
  void SetUp() override { ASSAY_SKIP_WITHOUT_IMAGES(); }
  const Folder folder_;
};

TEST_F(PipelineFaults, ABadSampleIsFatalWithFileAndOffset) {
  std::string second = test_record(1);
  second[200] = static_cast<char>(second[200] ^ 4);
  const std::string file = folder_.write("x.tfrecord", test_record(0) + second + test_record(2));
  const auto set = open_samples(file, {0, 5});
  InputPipeline pipeline(*set, small_settings(3));
  pipeline.start({});
  const std::string message = message_of<InputError>([&] { pipeline.next(); });
  EXPECT_TRUE(message.starts_with(file + ", offset " + std::to_string(test_record(0).size()) +
                                  ": wrong checksum of a record's data"))
      << message;
  EXPECT_NE(message.find("--max-bad-samples is 0"), std::string::npos);
  EXPECT_EQ(message_of<InputError>([&] { pipeline.next(); }), message);  // and stays so
}

TEST_F(PipelineFaults, BadSamplesThatAreAllowedAreReplacedAndCounted) {
  // Truncated, no image, wrong label, wrong data: samples 1, 3, 4, 6 of 8.
  const Bytes whole = test_image(1);
  const auto record = [](const std::string& image, std::int64_t label) {
    return tfrecord_bytes(example_bytes({image, label}, {1, 1}, "JPEG"));
  };
  std::string damaged = test_record(6);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  const std::string file = folder_.write(
      "x.tfrecord", test_record(0) + record(text_of(whole).substr(0, whole.size() / 2), 1) +
                        test_record(2) + record("no image", 1) + record(text_of(whole), 5) +
                        test_record(5) + damaged + test_record(7));
  const auto set = open_samples(file, {0, 5});
  ASSERT_EQ(set->size(), 8);
  PipelineSettings settings = small_settings(8, 3);
  settings.max_bad_samples = 4;
  const std::int64_t replacement[] = {0, 2, 2, 5, 5, 5, 7, 7};
  InputPipeline pipeline(*set, settings);
  pipeline.start({});
  const std::vector<std::int64_t> order = *EpochOrder(8, {0}, 11, true, 0).samples(0);
  const Batch& batch = pipeline.next();
  EXPECT_EQ(batch.count, 8);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(batch.samples[i], replacement[static_cast<std::size_t>(order[i])]);
  EXPECT_EQ(pipeline.bad_samples(), 4);
  pipeline.next();
  EXPECT_EQ(pipeline.bad_samples(), 4);  // the same ones
  EXPECT_EQ(pipeline.state().bad_samples, (std::vector<std::int64_t>{1, 3, 4, 6}));
  ASSERT_EQ(pipeline.bad_sample_messages().size(), 4u);
  for (const std::string& message : pipeline.bad_sample_messages())
    EXPECT_TRUE(message.starts_with(file + ", offset ")) << message;

  settings.decode.training = false;
  settings.shuffle = false;
  InputPipeline evaluation(*set, settings);
  evaluation.start({});
  const Batch& once = evaluation.next();
  EXPECT_EQ(once.count, 4);
  EXPECT_EQ(std::vector<std::int64_t>(once.samples.begin(), once.samples.end()),
            (std::vector<std::int64_t>{0, -1, 2, -1, -1, 5, -1, 7}));

  settings.max_bad_samples = 3;
  InputPipeline fewer(*set, settings);
  fewer.start({});
  EXPECT_NE(message_of<InputError>([&] { fewer.next(); }).find("bad sample 4"), std::string::npos);

  // A restart does not forget them.
  settings.max_bad_samples = 4;
  InputPipeline restarted(*set, settings);
  restarted.start({0, 0, {1, 3, 4, 100}});
  EXPECT_NE(message_of<InputError>([&] { restarted.next(); }).find("bad sample 5"),
            std::string::npos);
}

TEST_F(PipelineFaults, FaultsOfTheSetCount) {
  FakeSet set(10);
  set.faults_ = {"file a, offset 7: a truncated record"};
  PipelineSettings settings = small_settings();
  EXPECT_TRUE(message_of<InputError>([&] {
                InputPipeline(set, settings);
              }).starts_with("file a, offset 7: a truncated record (bad sample 1; "));
  settings.max_bad_samples = 1;
  InputPipeline pipeline(set, settings);
  pipeline.start({});
  pipeline.next();
  EXPECT_EQ(pipeline.bad_samples(), 1);
  EXPECT_EQ(pipeline.bad_sample_messages(), set.faults_);
}

TEST_F(PipelineFaults, ASetWithoutAGoodSampleEnds) {
  FakeSet set(10);
  set.on_read = [](std::int64_t) { throw BadSample("bad"); };
  PipelineSettings settings = small_settings();
  settings.max_bad_samples = 100;
  InputPipeline pipeline(set, settings);
  pipeline.start({});
  EXPECT_NE(message_of<InputError>([&] { pipeline.next(); }).find("no sample of fake"),
            std::string::npos);
}

TEST_F(PipelineFaults, ErrorsOfThreadsReachTheCallerAtTheirBatch) {
  FakeSet set(40);
  set.on_read = [](std::int64_t index) {
    if (index == 9) throw InputError("the disk is gone");
  };
  for (const int threads : {1, 4}) {
    PipelineSettings settings = small_settings(4, threads);
    settings.shuffle = false;
    InputPipeline pipeline(set, settings);
    pipeline.start({});
    pipeline.next();
    pipeline.next();
    EXPECT_EQ(message_of<InputError>([&] { pipeline.next(); }), "the disk is gone");
    pipeline.start({}, 0);  // its threads rest
    set.on_read = nullptr;
    pipeline.start({0, 2, {}});
    EXPECT_EQ(pipeline.next().samples[1], 9);
    pipeline.start({}, 0);
    set.on_read = [](std::int64_t index) {
      if (index == 9) throw InputError("the disk is gone");
    };
  }
  set.on_read = [](std::int64_t) { throw std::bad_alloc(); };
  InputPipeline pipeline(set, small_settings());
  pipeline.start({});
  EXPECT_THROW(pipeline.next(), std::bad_alloc);
}

TEST_F(PipelineFaults, AFileThatShrinksEndsIt) {
  const std::string prefix = write_test_set(folder_, 8);
  const auto set = open_samples(prefix, {0, 5});
  InputPipeline pipeline(*set, small_settings(8));
  pipeline.start({}, 1);
  pipeline.next();
  std::filesystem::resize_file(prefix + "0", test_record(0).size() + 20);
  pipeline.start({1, 0, {}}, 1);
  EXPECT_NE(message_of<InputError>([&] { pipeline.next(); }).find("has become shorter"),
            std::string::npos);
}

TEST_F(PipelineFaults, EndsWhileItsThreadsWork) {
  FakeSet set(1000);
  set.on_read = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  for (int round = 0; round < 10; ++round) {
    InputPipeline pipeline(set, small_settings(50, 4));
    if (round == 0) continue;  // never started
    pipeline.start({});
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(set.reads, 1000);
}

}  // namespace test_input_pipeline_faults
}  // namespace assay
