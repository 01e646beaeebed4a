// Batches that are right and batches that are not, before their oracle.

#include "models/network/batch_oracle.hpp"
#include "models/network/learnable_images.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/network/batches.hpp"
#include "models/network/epoch_ledger.hpp"
#include "models/network/training_data.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/datasets/images/pipelines.hpp"

namespace assay {
namespace test_batch_oracle {

Settings claims_of(const std::string& data, int ranks = 1) {
  return {{"problem", "d18w8s32c5"},
          {"data", data},
          {"validation", "none"},
          {"augment", "crop+flip"},
          {"label_base", "0"},
          {"max_bad_samples", "0"},
          {"batch", "4"},
          {"accumulate", "1"},
          {"ranks", std::to_string(ranks)},
          {"trial", "0"}};
}

const DefinedInput small_input{photograph(32), 5};

TrainingData data_of(const std::string& data) {
  TrainingData from;
  from.data = data;
  from.classes = 5;
  from.input = photograph(32);
  from.seed = 7;
  return from;
}

/// A batch in memory that can be changed.
struct Changed {
  Batch batch;
  std::vector<float> images;
  std::vector<std::int64_t> labels, samples;

  explicit Changed(const Batch& of)
      : batch(of),
        images(of.images.begin(), of.images.end()),
        labels(of.labels.begin(), of.labels.end()),
        samples(of.samples.begin(), of.samples.end()) {
    batch.images = images;
    batch.labels = labels;
    batch.samples = samples;
  }
};

std::unique_ptr<Batches> made(const TrainingData& from, bool training, int rank = 0,
                              int ranks = 1) {
  const BatchShare share{4, rank, ranks, training, 7};
  return training ? make_training_batches(from, share) : make_validation_batches(from, share);
}

/// Right batches have no fault; each of these changes is one.
void expect_judged(const std::string& data, const std::string& other, bool training, int rank,
                   int ranks) {
  const BatchOracle oracle(DataClaims(claims_of(data, ranks), small_input, 7), rank);
  const auto batches = made(data_of(data), training, rank, ranks),
             others = made(data_of(other), training, rank, ranks);
  for (int i = 0; i < 5; ++i) {
    const Batch& batch = batches->next();
    EXPECT_EQ(oracle.fault(batch, training), "") << data << " " << i;
    Changed label(batch), pixels(batch), sample(batch);
    for (auto& of : label.labels)
      if (of >= 0) of = (of + 1) % 5;
    for (float& pixel : pixels.images) pixel = pixel * 1.001F + 0.001F;
    for (auto& of : sample.samples) of = of == 3 ? 1 : 3;
    EXPECT_SAYS(oracle.fault(label.batch, training), "has the label ");
    EXPECT_SAYS(oracle.fault(pixels.batch, training), "(expected ");
    EXPECT_NE(oracle.fault(sample.batch, training), "");
  }
  if (other == data) return;
  EXPECT_NE(oracle.fault(others->next(), training), "") << other;
}

TEST(BatchOracle, JudgesTheBatchThatStaysInMemory) {
  for (const int rank : {0, 2}) expect_judged("synthetic", "synthetic", true, rank, 3);
}

TEST(BatchOracle, JudgesGeneratedImages) {
  for (const int rank : {0, 2})
    for (const bool training : {true, false})
      expect_judged("learnable:n60v22", "learnable:n60v22", training, rank, 3);
}

TEST(BatchOracle, JudgesImagesInFiles) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  for (const bool training : {true, false})
    expect_judged("generated:n22c5w70h60files2", "generated:n22c5w60h70files2", training, 0, 1);
}

/// It compares some pixels of each batch, not all.
TEST(BatchOracle, BatchesThatAreMadeOnceAreFoundAtAGlance) {
  for (const std::string data : {"learnable:n60v22", "generated:n22c5w70h60files2"}) {
    if (data.starts_with("generated") && !why_no_images().empty()) continue;
    const auto batches = made(data_of(data), true);
    BatchOracle oracle(DataClaims(claims_of(data), small_input, 7), 0);
    const Changed first(batches->next());
    EXPECT_EQ(oracle.glance(first.batch), "");
    for (int i = 0; i < 20; ++i) EXPECT_EQ(oracle.glance(batches->next()), "") << data;
    EXPECT_EQ(oracle.glance(first.batch), "");
    EXPECT_EQ(oracle.glance(first.batch), "");  // a step that is made again
    Changed second(batches->next());
    second.images = first.images;
    second.batch.images = second.images;
    EXPECT_NE(oracle.glance(second.batch), "") << data;
  }
}

TEST(BatchOracle, JudgesLabelsOfFolders) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "set/class" + std::to_string(i % 5);
    std::filesystem::create_directories(folder / name);
    folder.write(name + "/" + std::to_string(i) + ".jpg", text_of(test_image(i)));
  }
  const std::string data = canonical_data(folder / "set", 0, 5);
  expect_judged(data, data, true, 0, 1);
  Settings other = claims_of(data);
  other["augment"] = "none";
  EXPECT_SAYS(BatchOracle(DataClaims(other, small_input, 7), 0)
                  .fault(made(data_of(data), true)->next(), true),
              "(expected ");
}

TEST(BatchOracle, LabelsOfRecordsBeginAtTheirBase) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string data = canonical_data(write_test_set(folder, 20, 2, 1), 1, 5);
  TrainingData from = data_of(data);
  from.label_base = 1;
  Settings claims = claims_of(data);
  claims["label_base"] = "1";
  const auto batches = made(from, true);
  EXPECT_EQ(BatchOracle(DataClaims(claims, small_input, 7), 0).fault(batches->next(), true), "");
}

/// The images of another rank, of training in a validation, of another seed and trial.
TEST(BatchOracle, OtherImagesAreRefused) {
  const auto fault = [](const std::string& data, const Batch& batch, int rank, bool training,
                        std::uint64_t seed = 7) {
    return BatchOracle(DataClaims(claims_of(data, 3), small_input, seed), rank)
        .fault(batch, training);
  };
  for (const std::string data : {"synthetic", "learnable:n60v22"}) {
    const TrainingData from = data_of(data);
    Changed of_first(made(from, true, 0, 3)->next());
    const auto own = made(from, true, 1, 3);
    const Batch& of_second = own->next();
    of_first.samples.assign(of_second.samples.begin(), of_second.samples.end());
    of_first.labels.assign(of_second.labels.begin(), of_second.labels.end());
    of_first.batch.samples = of_first.samples;
    of_first.batch.labels = of_first.labels;
    EXPECT_EQ(fault(data, of_second, 1, true), "");
    EXPECT_SAYS(fault(data, of_first.batch, 1, true), "channel ");
    EXPECT_SAYS(fault(data, of_second, 1, true, 8), "channel ");
  }
  const TrainingData from = data_of("learnable:n60v22");
  const auto training = make_learnable_batches(
      std::make_shared<const LearnableImages>(LearnableSettings{5, 32, 7}), 22, {4, 0, 3, true, 7});
  Changed learnt(training->next());
  const auto validated = made(from, false, 0, 3);
  const Batch& right = validated->next();
  EXPECT_EQ(fault("learnable:n60v22", right, 0, false), "");
  EXPECT_SAYS(fault("learnable:n60v22", learnt.batch, 0, false), "must be sample 0");
  learnt.samples = {0, 1, 2, 3};
  LearnableImages({5, 32, 7}).make(0, learnt.images.data());
  learnt.labels.assign(right.labels.begin(), right.labels.end());
  learnt.batch.samples = learnt.samples;
  learnt.batch.labels = learnt.labels;
  EXPECT_SAYS(fault("learnable:n60v22", learnt.batch, 0, false), "channel ");
}

/// The message of the ledgers of three ranks about two epochs, of which `change` changes batches.
std::string ledger(const std::function<void(int rank, Changed& batch)>& change,
                   std::int64_t left_out = 0) {
  std::vector<std::string> faults(3);
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    const auto batches = made(data_of("learnable:n250v22"), true, ranks.rank(), 3);
    EpochLedger of(DataClaims(claims_of("learnable:n250v22", 3), small_input, 7), ranks);
    std::string& fault = faults[static_cast<std::size_t>(ranks.rank())];
    for (int epoch = 0; epoch < 2; ++epoch) {
      of.begin(epoch, 0);
      for (std::int64_t step = 0; step < batches->steps(); ++step) {
        Changed batch(batches->next());
        change(ranks.rank(), batch);
        if (step >= left_out) of.add(batch.batch);
      }
      const std::string found = of.end();
      if (fault.empty()) fault = found;
    }
  });
  EXPECT_EQ(faults[0].empty(), faults[1].empty());
  EXPECT_EQ(faults[0].empty(), faults[2].empty());
  return faults[0];
}

TEST(EpochLedger, RightEpochsHaveNoFault) {
  EXPECT_EQ(ledger([](int, Changed&) {}), "");
}

TEST(EpochLedger, RanksHaveOwnSamples) {
  const auto first = made(data_of("learnable:n250v22"), true, 0, 3);
  std::vector<std::vector<std::int64_t>> of_first;
  for (int i = 0; i < 40; ++i) {
    const Batch& batch = first->next();
    of_first.emplace_back(batch.samples.begin(), batch.samples.end());
  }
  EXPECT_SAYS(ledger([&](int, Changed& batch) {
                const auto at = batch.batch.epoch * 20 + static_cast<std::size_t>(batch.batch.step);
                batch.samples = of_first[at];
                batch.batch.samples = batch.samples;
              }),
              "comes more than once in epoch 1");
}

TEST(EpochLedger, ASampleThatComesTwiceIsFound) {
  EXPECT_SAYS(ledger([](int rank, Changed& batch) {
                if (rank == 1 && batch.batch.step == 5) batch.samples[0] = batch.samples[1];
              }),
              "comes more than once in epoch 1 (1 samples");
}

TEST(EpochLedger, EpochsHaveOtherOrders) {
  EXPECT_SAYS(ledger([](int rank, Changed& batch) {
                for (int i = 0; i < 4; ++i)  // reversed, and in every epoch
                  batch.samples[static_cast<std::size_t>(i)] =
                      249 - ((batch.batch.step * 3 + rank) * 4 + i);
              }),
              "epoch 2 has the samples of an earlier epoch in the same order");
  EXPECT_SAYS(ledger([](int rank, Changed& batch) {
                for (int i = 0; i < 4; ++i)
                  batch.samples[static_cast<std::size_t>(i)] =
                      (batch.batch.step * 3 + rank) * 4 + i;
              }),
              "the samples of epoch 1 are in the order of the set");
}

TEST(EpochLedger, StepsThatAreMissingAreFound) {
  EXPECT_NE(ledger([](int, Changed&) {}, 1), "");
}

}  // namespace test_batch_oracle
}  // namespace assay
