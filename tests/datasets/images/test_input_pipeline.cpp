#include "datasets/images/input_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/datasets/images/pipelines.hpp"

namespace assay {
namespace test_input_pipeline {

class Pipeline : public ::testing::Test {
 protected:
  void SetUp() override { ASSAY_SKIP_WITHOUT_IMAGES(); }
  const Folder folder_;
};

TEST_F(Pipeline, BatchesAreThoseOfTheReferenceOnAnyNumberOfThreads) {
  const auto set = open_samples(write_test_set(folder_, 22, 3), {0, 5});
  const PipelineSettings base = small_settings();
  const std::vector<Copy> expected = batches_of(*set, base, 12);  // two epochs of 5, and more
  std::vector<float> image(static_cast<std::size_t>(base.decode.elements()));
  Sample sample;
  for (const Copy& batch : expected) {
    EXPECT_EQ(batch.count, 4);
    for (std::size_t i = 0; i < 4; ++i) {
      set->read(batch.samples[i], sample);
      EXPECT_EQ(batch.labels[i], sample.label);
      reference_decode(sample.encoded, base.decode, batch.epoch, batch.samples[i], image.data());
      EXPECT_TRUE(std::equal(image.begin(), image.end(),
                             batch.images.begin() + static_cast<std::ptrdiff_t>(i * image.size())));
    }
  }
  EXPECT_EQ(expected[4].epoch, 0u);
  EXPECT_EQ(expected[5].epoch, 1u);
  EXPECT_EQ(expected[5].step, 0);
  for (const int threads : {1, 3, 8})
    for (const int prefetch : {0, 1, 7}) {
      PipelineSettings settings = base;
      settings.threads = threads;
      settings.prefetch = prefetch;
      EXPECT_EQ(batches_of(*set, settings, 12), expected) << threads << ' ' << prefetch;
    }
}

TEST_F(Pipeline, RanksTogetherReadWhatOneRankReads) {
  const auto set = open_samples(write_test_set(folder_, 26, 2), {0, 5});
  const std::vector<Copy> alone = batches_of(*set, small_settings(2), 13);
  for (int rank = 0; rank < 3; ++rank) {
    PipelineSettings settings = small_settings(2);
    settings.rank = rank;
    settings.ranks = 3;
    const std::vector<Copy> mine = batches_of(*set, settings, 4);
    for (std::size_t step = 0; step < 4; ++step)
      EXPECT_EQ(mine[step].images, alone[3 * step + static_cast<std::size_t>(rank)].images);
  }
}

TEST_F(Pipeline, EvaluationReadsEachSampleOnce) {
  const auto set = open_samples(write_test_set(folder_, 10), {0, 5});
  PipelineSettings settings = small_settings(4);
  settings.decode.training = false;
  settings.shuffle = false;
  for (const int ranks : {1, 16}) {
    std::multiset<std::int64_t> seen;
    for (int rank = 0; rank < ranks; ++rank) {
      settings.rank = rank;
      settings.ranks = ranks;
      InputPipeline pipeline(*set, settings);
      pipeline.start({}, pipeline.steps());
      for (std::int64_t step = 0; step < pipeline.steps(); ++step) {
        const Batch& batch = pipeline.next();
        std::int64_t there = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          if (batch.samples[i] >= 0) {
            seen.insert(batch.samples[i]);
            EXPECT_EQ(batch.labels[i], test_label(static_cast<int>(batch.samples[i])));
            ++there;
          } else {
            EXPECT_EQ(batch.labels[i], -1);
            EXPECT_EQ(batch.images[i * static_cast<std::size_t>(settings.decode.elements())], 0);
          }
        }
        EXPECT_EQ(batch.count, there);
      }
    }
    EXPECT_EQ(seen, (std::multiset<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

TEST_F(Pipeline, GoesOnWhereAStateWasSaved) {
  const auto set = open_samples(write_test_set(folder_, 14, 2), {0, 5});
  const PipelineSettings settings = small_settings(4);  // 3 steps an epoch
  const std::vector<Copy> whole = batches_of(*set, settings, 10);
  for (int stop = 0; stop < 8; ++stop) {
    PipelineState saved;
    {
      InputPipeline pipeline(*set, settings);
      pipeline.start({});
      for (int i = 0; i < stop; ++i) pipeline.next();
      saved = pipeline.state();
    }
    EXPECT_EQ(saved.epoch, static_cast<std::uint64_t>(stop / 3));
    EXPECT_EQ(saved.step, stop % 3);
    const std::vector<Copy> rest = batches_of(*set, settings, 10 - stop, saved);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + stop)) << stop;
  }
}

TEST_F(Pipeline, CanBeStartedAnewAtAnyTime) {
  const auto set = open_samples(write_test_set(folder_, 14), {0, 5});
  const PipelineSettings settings = small_settings(4, 3);
  const std::vector<Copy> whole = batches_of(*set, settings, 6);
  InputPipeline pipeline(*set, settings);
  for (int round = 0; round < 20; ++round) {
    pipeline.start({});  // while batches of the last start are being made
    for (int i = 0; i < round % 4; ++i)
      ASSERT_EQ(copy_of(pipeline.next()), whole[static_cast<std::size_t>(i)]);
  }
}

TEST_F(Pipeline, MakesNoMoreThanItWasStartedFor) {
  FakeSet set(100);
  InputPipeline pipeline(set, small_settings(5, 4));
  EXPECT_THROW(pipeline.next(), std::logic_error);  // not started
  pipeline.start({}, 2);
  pipeline.next();
  pipeline.next();
  EXPECT_THROW(pipeline.next(), std::logic_error);
  EXPECT_EQ(set.reads, 10);
  EXPECT_EQ(pipeline.counters().images, 10);
  EXPECT_EQ(pipeline.counters().batches, 2);
  EXPECT_EQ(pipeline.counters().decoded, 10);
  EXPECT_EQ(pipeline.counters().bytes, 10 * std::ssize(test_image(0)));
  EXPECT_GT(pipeline.counters().decode_s, 0);
  EXPECT_GT(pipeline.counters().stall_s, 0);
}

TEST_F(Pipeline, PrefetchesAsFarAsItIsAllowed) {
  for (const int prefetch : {0, 1, 3}) {
    FakeSet set(100);
    PipelineSettings settings = small_settings(5, 3);
    settings.prefetch = prefetch;
    InputPipeline pipeline(set, settings);
    pipeline.start({});
    const auto settled = [&](int reads) {
      for (int i = 0; i < 2000 && set.reads < reads; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return set.reads.load();
    };
    EXPECT_EQ(settled(5 * prefetch), 5 * prefetch);
    pipeline.next();
    EXPECT_EQ(settled(5 * (prefetch + 1)), 5 * (prefetch + 1));
  }
}

TEST_F(Pipeline, BeginsNothingWhileItIsPaused) {
  FakeSet set(100);
  const PipelineSettings settings = small_settings(5, 3);
  const std::vector<Copy> whole = batches_of(set, settings, 3);
  std::vector<std::int64_t> order;  // one thread begins samples in their order
  set.on_read = [&](std::int64_t sample) { order.push_back(sample); };
  {
    InputPipeline serial(set, small_settings(5, 1));
    serial.start({});
    serial.next();
  }
  const std::set<std::int64_t> first(order.begin(), order.begin() + 5);
  std::atomic<int> begun = 0;
  std::atomic<bool> held = true;  // samples of later batches wait
  set.on_read = [&](std::int64_t sample) {
    ++begun;
    while (held && !first.contains(sample))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  InputPipeline pipeline(set, settings);
  pipeline.start({});
  EXPECT_EQ(copy_of(pipeline.next()), whole[0]);
  pipeline.pause();
  held = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(begun, 5 + settings.threads);  // else 15, with the two batches in advance
  EXPECT_EQ(copy_of(pipeline.next()), whole[1]);
  pipeline.pause();
  EXPECT_EQ(copy_of(pipeline.next()), whole[2]);
  pipeline.pause();
  pipeline.start({}, 1);
  EXPECT_EQ(copy_of(pipeline.next()), whole[0]);
  pipeline.pause();  // the end does not wait for a call that nobody makes
}

TEST_F(Pipeline, ABatchStaysAsItIsUntilTheNextIsWanted) {
  const auto set = open_samples(write_test_set(folder_, 20), {0, 5});
  InputPipeline pipeline(*set, small_settings(4, 4));
  pipeline.start({});
  for (int i = 0; i < 12; ++i) {
    const Batch& batch = pipeline.next();
    const Copy at_once = copy_of(batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(copy_of(batch), at_once);
  }
}

TEST_F(Pipeline, ABatchLargerThanTheSetIsRefused) {
  const FakeSet set(10);
  PipelineSettings settings = small_settings(6);
  EXPECT_NO_THROW(InputPipeline(set, settings));
  settings.ranks = 2;
  EXPECT_NE(message_of<InputError>([&] {
              InputPipeline(set, settings);
            }).find("a batch of 6 on 2 ranks exceeds the set of 10 samples"),
            std::string::npos);
}

TEST_F(Pipeline, ADamagedRecordIsToldBeforeTheBatch) {
  std::string first = test_record(1);
  first[0] = static_cast<char>(first[0] ^ 1);
  folder_.write("train-0", first + test_record(2) + test_record(3));
  folder_.write("train-1", test_record(4));
  const auto set = open_samples(folder_ / "train-", {0, 5});
  PipelineSettings settings = small_settings(2);
  const auto told = [&] { return message_of<InputError>([&] { InputPipeline(*set, settings); }); };
  const std::string damage = "train-0, offset 0: wrong checksum of a record's length";
  EXPECT_NE(told().find(damage), std::string::npos) << told();
  EXPECT_EQ(told().find("batch"), std::string::npos) << told();
  settings.max_bad_samples = 1;
  EXPECT_NE(told().find("exceeds the set of 1 samples"), std::string::npos) << told();
  EXPECT_NE(told().find(damage), std::string::npos) << told();
}

TEST_F(Pipeline, WhatIsPoisonedIsNotHandedOut) {
  const auto set = open_samples(write_test_set(folder_, 12), {0, 5});
  InputPipeline pipeline(*set, small_settings(4));
  for (int round = 0; round < 3; ++round) {
    pipeline.poison();
    pipeline.start({}, 3);
    for (int i = 0; i < 3; ++i) {
      const Batch& batch = pipeline.next();
      EXPECT_TRUE(std::none_of(batch.images.begin(), batch.images.end(),
                               [](float value) { return std::isnan(value); }));
      for (const std::int64_t label : batch.labels) EXPECT_GE(label, 0);
    }
  }
}

}  // namespace test_input_pipeline
}  // namespace assay
