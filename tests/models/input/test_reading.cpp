#include "models/input/reading.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_reading {

/// A fault of the set is found by all ranks, and a sample by those that read it.
TEST(Reading, CountsEachBadSampleOnce) {
  testing_fakes::on_threads(3, [](Communicator& ranks) {
    const std::vector<std::int64_t> mine =
        ranks.rank() == 0 ? std::vector<std::int64_t>{3, 5} : std::vector<std::int64_t>{5};
    EXPECT_EQ(count_samples({{"a", 1, mine}}, ranks), 3);
    EXPECT_EQ(count_samples({{"a", 1, mine}, {"a", 1, {ranks.rank() + 4}}}, ranks), 5);
    EXPECT_EQ(count_samples({{"a", 1, mine}, {"b", 0, {5}}}, ranks), 4);
    EXPECT_EQ(count_samples({}, ranks), 0);
  });
}

/// There are two regions, of which the second one found its images ready.
TEST(Reading, TellsImagesOverAllOfItsTime) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    Reading reading;
    EXPECT_EQ(reading.images_per_s(ranks), 0);
    PipelineCounters counters;
    for (const double seconds : {3.0, 1.0}) {
      reading.begin(counters);
      counters.images += 10;
      reading.end(counters, ranks.rank() == 0 ? seconds : seconds / 2);
    }
    EXPECT_EQ(reading.images_per_s(ranks), 10);  // 40 images in the 4 s of rank 0
  });
}

/// Threads are batches ahead or behind: what they did is of the images that they decoded.
TEST(Reading, MeansAreOfTheImagesThatWereDecodedMeanwhile) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    Reading reading, ready;
    PipelineCounters counters;
    counters.images = counters.decoded = 100;
    reading.begin(counters);
    ready.begin(counters);
    counters.images += 10;
    ready.end(counters, 1);
    counters.decoded += 4;
    counters.bytes += 4000;
    counters.decode_s += 2;
    counters.read_s += 1;
    reading.end(counters, 1);
    const std::map<std::string, Metric> found = reading.metrics(ranks, 0);
    EXPECT_EQ(found.at("encoded_bytes_per_image").value, 1000);
    EXPECT_EQ(found.at("decode_s_per_image").value, 0.5);
    EXPECT_EQ(found.at("read_s_per_image").value, 0.25);
    EXPECT_FALSE(ready.metrics(ranks, 0).contains("encoded_bytes_per_image"));
    EXPECT_TRUE(ready.metrics(ranks, 0).contains("stall_percent"));
  });
}

/// No rank alone has too many.
TEST(Reading, TheLimitOfBadSamplesIsForAllRanks) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    const std::int64_t own = ranks.rank();
    const std::vector<BadSamples> mine = {
        {"a", 0, {own}, own == 1 ? "file, offset 7: truncated" : ""}};
    EXPECT_EQ(number_within(2, mine, ranks), 2);
    EXPECT_EQ(number_within(1, {{"a", 0, {5}}}, ranks), 1);
    EXPECT_EQ(message_of<InputError>([&] { number_within(1, mine, ranks); }),
              "file, offset 7: truncated (one of 2 bad samples of all ranks; --max-bad-samples is "
              "1). Repair the set, or allow more.");
    // A restart may know only the numbers.
    EXPECT_TRUE(message_of<InputError>([&] {
                  number_within(1, {{"a", 0, {own}}}, ranks);
                }).starts_with("a (one of 2 bad samples"));
  });
}

}  // namespace test_reading
}  // namespace assay
