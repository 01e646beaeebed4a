#include "models/network/batches.hpp"
#include "models/network/learnable_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>

#include "core/api/random.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/datasets/images/pipelines.hpp"

namespace assay {
namespace test_batches {

const std::shared_ptr<const LearnableImages>& small_images() {
  static const auto images = std::make_shared<const LearnableImages>(LearnableSettings{5, 8, 1});
  return images;
}

BatchShare share_of(std::int64_t batch, int rank = 0, int ranks = 1, bool training = true,
                    std::uint64_t seed = 1) {
  return {batch, rank, ranks, training, seed};
}

std::vector<Copy> take(Batches& batches, int count) {
  std::vector<Copy> all;
  for (int i = 0; i < count; ++i) all.push_back(copy_of(batches.next()));
  return all;
}

TEST(ResidentBatch, IsThatOfTheRank) {
  for (const int rank : {0, 3}) {
    const auto batches = make_resident_batch({10, photograph(8), 7}, share_of(6, rank, 4));
    const Values values =
        Values(Values::Kind::mantissa, 7, "images", DataType::fp32, 0).of_rank(rank);
    const Copy first = copy_of(batches->next());
    ASSERT_EQ(first.images.size(), 6u * 8 * 8 * 3);
    for (int n = 0; n < 6; ++n) {
      EXPECT_EQ(first.labels[static_cast<std::size_t>(n)], (7 * n + 3 + rank) % 10);
      for (int c = 0; c < 3; ++c)
        for (int h = 0; h < 8; ++h)
          for (int w = 0; w < 8; ++w)
            ASSERT_EQ(first.images[static_cast<std::size_t>(((n * 8 + h) * 8 + w) * 3 + c)],
                      values(((n * 3 + c) * 8 + h) * 8 + w));
    }
    const Copy second = copy_of(batches->next());
    EXPECT_EQ(second.images, first.images);
    EXPECT_EQ(second.labels, first.labels);
    EXPECT_EQ(second.step, 1);
    EXPECT_EQ(second.count, 6);
  }
  EXPECT_EQ(make_resident_batch({}, share_of(256))->steps(), 5004);
  EXPECT_EQ(make_resident_batch({10, photograph(8), 7, 5}, share_of(6))->steps(), 1);
}

TEST(LearnableBatches, EverySampleComesOnceAnEpochOverAllRanks) {
  for (const int ranks : {1, 3}) {
    std::vector<std::unique_ptr<Batches>> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(make_learnable_batches(small_images(), 60, share_of(4, rank, ranks)));
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::multiset<std::int64_t> seen;
      for (const auto& mine : all)
        for (std::int64_t step = 0; step < mine->steps(); ++step) {
          const Batch& batch = mine->next();
          EXPECT_EQ(batch.epoch, epoch);
          EXPECT_EQ(batch.step, step);
          EXPECT_EQ(batch.count, 4);
          seen.insert(batch.samples.begin(), batch.samples.end());
        }
      EXPECT_EQ(seen.size(), 60u);
      EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), 60u);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), 59);
    }
  }
}

TEST(LearnableBatches, RanksTogetherHaveWhatOneRankHas) {
  const auto alone = make_learnable_batches(small_images(), 60, share_of(4));
  const std::vector<Copy> expected = take(*alone, 15);
  for (int rank = 0; rank < 3; ++rank) {
    const auto mine = make_learnable_batches(small_images(), 60, share_of(4, rank, 3));
    for (std::size_t step = 0; step < 5; ++step)
      EXPECT_EQ(copy_of(mine->next()).images,
                expected[3 * step + static_cast<std::size_t>(rank)].images);
  }
}

TEST(LearnableBatches, HaveTheImagesAndLabelsOfTheirSamples) {
  std::vector<float> image(static_cast<std::size_t>(small_images()->elements()));
  for (const bool training : {true, false}) {
    const auto batches = make_learnable_batches(small_images(), 22, share_of(4, 0, 1, training));
    const std::int64_t first = training ? 0 : LearnableImages::validation_first;
    for (const Copy& batch : take(*batches, 5))
      for (std::size_t i = 0; i < 4; ++i) {
        small_images()->make(first + batch.samples[i], image.data());
        EXPECT_EQ(batch.labels[i], small_images()->label(first + batch.samples[i]));
        EXPECT_TRUE(
            std::equal(image.begin(), image.end(),
                       batch.images.begin() + static_cast<std::ptrdiff_t>(i * image.size())));
      }
  }
}

TEST(LearnableBatches, AnEvaluationHasEachSampleOnceInOrder) {
  std::multiset<std::int64_t> seen;
  for (int rank = 0; rank < 3; ++rank) {
    const auto mine = make_learnable_batches(small_images(), 22, share_of(4, rank, 3, false));
    EXPECT_EQ(mine->steps(), 2);
    for (const Copy& batch : take(*mine, 2)) {
      std::int64_t there = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        if (batch.samples[i] >= 0) {
          seen.insert(batch.samples[i]);
          ++there;
          continue;
        }
        EXPECT_EQ(batch.labels[i], -1);
        const auto begin = batch.images.begin() + static_cast<std::ptrdiff_t>(i * 192);
        EXPECT_EQ(std::count(begin, begin + 192, 0.0F), 192);
      }
      EXPECT_EQ(batch.count, there);
    }
  }
  EXPECT_EQ(seen.size(), 22u);
  EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), 22u);
  const auto alone = make_learnable_batches(small_images(), 22, share_of(4, 0, 1, false));
  EXPECT_EQ(copy_of(alone->next()).samples, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(LearnableBatches, SeedsAndEpochsHaveOtherOrders) {
  const auto order = [](std::uint64_t seed, int epoch) {
    const auto batches = make_learnable_batches(small_images(), 20, share_of(20, 0, 1, true, seed));
    return take(*batches, epoch + 1).back().samples;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
}

/// A source made by `make` gives in two parts the same as in one.
void expect_restarts(const std::function<std::unique_ptr<Batches>()>& make, int total) {
  const std::vector<Copy> whole = take(*make(), total);
  for (const int before : {0, 1, total / 2, total - 1}) {
    const auto first = make();
    take(*first, before);
    const auto second = make();
    take(*second, 2);
    second->start(first->state(), total - before);
    EXPECT_EQ(second->state(), first->state());
    EXPECT_EQ(second->counters().batches, 0);
    const std::vector<Copy> rest = take(*second, total - before);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + before, whole.end()));
    EXPECT_EQ(second->counters().batches, total - before);
    EXPECT_THROW(second->next(), std::logic_error);
  }
}

TEST(Batches, ContinueFromTheirState) {
  expect_restarts([] { return make_resident_batch({10, photograph(8), 7, 40}, share_of(6)); }, 15);
  expect_restarts([] { return make_learnable_batches(small_images(), 22, share_of(4)); }, 12);
  expect_restarts(
      [] { return make_learnable_batches(small_images(), 22, share_of(4, 1, 2, false)); }, 8);
}

TEST(PipelineBatches, AreThoseOfThePipeline) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::shared_ptr<const SampleSet> set = open_samples(write_test_set(folder, 22, 3), {0, 5});
  const auto batches = make_pipeline_batches(set, small_settings());
  EXPECT_EQ(take(*batches, 12), batches_of(*set, small_settings(), 12));
  EXPECT_EQ(batches->steps(), 5);
  EXPECT_EQ(batches->samples(), 22);
  EXPECT_EQ(batches->classes(), 5);
  EXPECT_EQ(batches->canonical(), set->canonical());
  EXPECT_EQ(batches->counters().images, 48);
  expect_restarts([&] { return make_pipeline_batches(set, small_settings()); }, 12);
  PipelineSettings other = small_settings();
  other.decode.layout = ImageLayout::nchw;
  EXPECT_THROW(make_pipeline_batches(set, other), std::logic_error);
}

TEST(PipelineBatches, CountBadSamples) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const auto set = std::make_shared<FakeSet>(8);
  set->on_read = [](std::int64_t index) {
    if (index == 3) throw BadSample("fake 3: torn");
  };
  PipelineSettings settings = small_settings();
  settings.max_bad_samples = 1;
  const auto batches = make_pipeline_batches(set, settings);
  batches->start({}, 2);
  take(*batches, 2);
  EXPECT_EQ(batches->bad_samples(), 1);
  EXPECT_EQ(batches->bad_sample_messages(), (std::vector<std::string>{"fake 3: torn"}));
  EXPECT_EQ(batches->state().bad_samples, (std::vector<std::int64_t>{3}));
}

TEST(Batches, WhatCannotBeMadeIsRefused) {
  const auto refused = [](std::int64_t count, const BatchShare& share) {
    return fixture::message_of([&] { make_learnable_batches(small_images(), count, share); });
  };
  EXPECT_EQ(refused(12, share_of(4, 0, 3)), "accepted");
  EXPECT_SAYS(refused(11, share_of(4, 0, 3)),
              "a batch of 4 on 3 ranks exceeds the set of 11 samples (learnable:c5s8seed1n11)");
  EXPECT_EQ(refused(3, share_of(4, 0, 3, false)), "accepted");
  EXPECT_SAYS(refused(0, share_of(4)), "of 0 samples");
  EXPECT_SAYS(refused(4, share_of(0)), "a batch of 0");
  EXPECT_SAYS(refused(4, share_of(1, 2, 2)), "rank 2 of 2");
  EXPECT_SAYS(fixture::message_of([] {
                make_resident_batch({0, photograph(8), 1}, share_of(4));
              }),
              "of 0 samples");
}

}  // namespace test_batches
}  // namespace assay
