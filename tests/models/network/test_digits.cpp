// A small network learns scikit-learn's digits from files that the project's writer made.

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>

#include "datasets/images/image_source.hpp"
#include "datasets/images/image_writer.hpp"
#include "models/network/convergence.hpp"
#include "tests/datasets/images/image_sets.hpp"
#include "trainers.hpp"

namespace assay {
namespace {

using network_test::made;
using network_test::plugins;

constexpr int side = 32, batch = 30;
/// Of the 1797 digits the first validate, the others train.
constexpr std::int64_t validated = 297, trained = 1500, epochs = 20;

struct Digits {
  Folder folder;
  std::shared_ptr<const SampleSet> training, validation;
  Digits() {
    const std::string table = std::string(ASSAY_SOURCE_DIR) + "/tests/models/data/digits.csv";
    const auto written = [&](const char* name, std::int64_t first, std::int64_t count, int files) {
      ImageSetFormat format;
      format.png = true;  // grey squares as they are
      format.files = files;
      write_image_set(*table_images(table, first, count, side), folder / name, format);
      return open_samples(folder / name, {0, 10});
    };
    training = written("training", validated, trained, 3);
    validation = written("validation", 0, validated, 1);
  }
};

/// ResNet-18 of width 16, until it tells 97 %.
Convergence learnt(std::uint64_t seed, Precision precision) {
  static const Digits digits;
  const auto ranks = serial_communicator();
  TrainerSettings of = network_test::small_settings("native");
  of.shape = {18, 16, side, 10};
  of.batch = batch;
  of.executor.threads = 1;
  of.precision = precision;
  of.executor.wide_products = precision != Precision::fp32;
  of.loss_scale =
      parse_loss_scale("--loss-scale", precision == Precision::fp16 ? "dynamic" : "none");
  of.seed = seed;
  const auto trainer = made(of, *ranks);
  auto evaluator = Evaluator::make(*trainer, plugins(), *ranks);
  const auto batches = [&](const std::shared_ptr<const SampleSet>& set, bool training) {
    PipelineSettings settings;
    settings.decode = {side, training, ImageLayout::nhwc, seed, Augment::shift};
    settings.batch = batch;
    settings.shuffle = training;
    return pipeline_batches(set, settings);
  };
  const auto training = batches(digits.training, true),
             validation = batches(digits.validation, false);
  ConvergenceSettings settings;
  settings.epochs = epochs;
  settings.target = 0.97;
  settings.rate = 0.07;
  settings.decay.kind = Decay::Kind::cosine;
  return train(*trainer, *std::get<std::unique_ptr<Evaluator>>(evaluator), *training, *validation,
               *ranks, settings);
}

void expect_learnt(std::uint64_t seed, Precision precision) {
  const Convergence found = learnt(seed, precision);
  ASSERT_FALSE(found.epochs.empty());
  const EpochResult& last = found.epochs.back();
  const std::string which = std::string(name(precision)) + " seed " + std::to_string(seed);
  EXPECT_TRUE(found.reached) << which << ": " << last.evaluation->accuracy;
  EXPECT_EQ(last.evaluation->images, validated);
  EXPECT_TRUE(found.found.passed) << which << ": " << found.found.reason;
  std::cerr << which << ": " << last.epoch << " epochs, accuracy " << last.evaluation->accuracy
            << ", loss " << last.evaluation->loss << ", " << last.seconds << " s\n";
}

TEST(Digits, AreLearntByASmallNetwork) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  expect_learnt(1, Precision::fp32);
}

}  // namespace
}  // namespace assay
