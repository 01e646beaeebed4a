// A small network learns scikit-learn's digits from files that the project's writer made.

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "datasets/images/image_source.hpp"
#include "datasets/images/image_writer.hpp"
#include "models/network/convergence.hpp"
#include "tests/datasets/images/image_sets.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_digits {

using network_test::made;
using network_test::plugins;

constexpr int side = 32, batch = 30;
constexpr std::int64_t usual_epochs = 20;
constexpr double rate = 0.07, target = 0.97;

using Samples = std::shared_ptr<const SampleSet>;

const std::string table = std::string(ASSAY_SOURCE_DIR) + "/tests/models/data/digits.csv";

Samples images(const std::string& rows, std::int64_t first, std::int64_t count,
               const std::string& prefix) {
  ImageSetFormat format;
  format.png = true;  // grey squares as they are
  format.files = count > 1000 ? 3 : 1;
  write_image_set(*make_table_images(rows, first, count, side), prefix, format);
  return open_samples(prefix, {0, 10});
}

/// Digits of writers: the table is in the order of those who wrote them.
Samples digits_of_writers(const Folder& folder, const char* name, std::int64_t first,
                          std::int64_t count) {
  return images(table, first, count, folder / name);
}

struct Digits {
  Samples training, validation;
};

/// Every sixth of the 1797 digits validates: each writer has digits among both. A network may tell
/// as few as 96 % of writers that it has not seen, so that the target would judge the writers.
Digits digits_of_all(const Folder& folder) {
  std::ifstream all(table);
  std::string head, line, training, validation;
  std::getline(all, head);
  std::int64_t rows = 0, held_out = 0;
  for (; std::getline(all, line); ++rows) {
    const bool validates = rows % 6 == 0;
    (validates ? validation : training) += line + "\n";
    held_out += validates ? 1 : 0;
  }
  folder.write("rows-that-train.csv", head + "\n" + training);
  folder.write("rows-that-validate.csv", head + "\n" + validation);
  return {images(folder / "rows-that-train.csv", 0, rows - held_out, folder / "training"),
          images(folder / "rows-that-validate.csv", 0, held_out, folder / "validation")};
}

/// ResNet-18 of width 16; 16-bit precisions are emulated.
class Learner {
 public:
  explicit Learner(std::uint64_t seed, Precision precision = Precision::fp32)
      : seed_(seed), trainer_(made(settings(seed, precision), *ranks_)) {
    auto evaluator = Evaluator::make(*trainer_, plugins(), *ranks_);
    evaluator_ = std::move(std::get<std::unique_ptr<Evaluator>>(evaluator));
  }

  /// Trains from its initial parameters, until the target or for all epochs.
  Convergence learn(const Samples& training, const Samples& validation, double rate, double target,
                    std::int64_t epochs = usual_epochs) {
    ConvergenceSettings of;
    of.epochs = epochs;
    of.target = target;
    of.rate = rate;
    of.decay.kind = Decay::Kind::cosine;
    return train(*trainer_, *evaluator_, *batches(training, true), *batches(validation, false),
                 *ranks_, of);
  }

  double accuracy(const Samples& samples) {
    return evaluator_->evaluate(*batches(samples, false)).score;
  }

 private:
  static TrainerSettings settings(std::uint64_t seed, Precision precision) {
    TrainerSettings of = network_test::small_settings("native");
    of.network = make_resnet({18, 16, side, 10});
    of.batch = batch;
    of.precision = precision;
    of.loss_scale =
        parse_loss_scale("--loss-scale", precision == Precision::fp16 ? "dynamic" : "none");
    of.executor.threads = 1;
    of.executor.wide_products = precision != Precision::fp32;
    of.seed = seed;
    return of;
  }

  std::unique_ptr<Batches> batches(const Samples& samples, bool training) const {
    PipelineSettings of;
    of.decode = {side, training, ImageLayout::nhwc, seed_, Augment::shift};
    of.batch = batch;
    of.shuffle = training;
    return make_pipeline_batches(samples, of);
  }

  std::uint64_t seed_;
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Evaluator> evaluator_;
};

void expect_right(const Convergence& found) {
  ASSERT_FALSE(found.epochs.empty());
  EXPECT_TRUE(found.verification.passed) << found.verification.reason;
}

TEST(Digits, AreLearntByASmallNetwork) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const Digits digits = digits_of_all(folder);
  const Convergence found = Learner(1).learn(digits.training, digits.validation, rate, target);
  expect_right(found);
  const EpochResult& last = found.epochs.back();
  EXPECT_TRUE(found.reached) << last.evaluation->score;
  EXPECT_EQ(last.evaluation->images, 300);
  std::cerr << last.epoch << " epochs, accuracy " << last.evaluation->score << ", loss "
            << last.evaluation->loss << ", " << last.seconds << " s\n";
}

class DigitsInPrecisionFull : public testing::TestWithParam<Precision> {};

TEST_P(DigitsInPrecisionFull, AreLearntWithEverySeed) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const Digits digits = digits_of_all(folder);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Convergence found =
        Learner(seed, GetParam()).learn(digits.training, digits.validation, rate, target);
    expect_right(found);
    const EpochResult& last = found.epochs.back();
    EXPECT_TRUE(found.reached) << "seed " << seed << ": " << last.evaluation->score;
    std::cerr << name(GetParam()) << ", seed " << seed << ": " << last.epoch << " epochs, accuracy "
              << last.evaluation->score << '\n';
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, DigitsInPrecisionFull,
                         testing::Values(Precision::fp32, Precision::bf16, Precision::fp16),
                         [](const auto& info) { return std::string(name(info.param)); });

/// The rate is chosen by the digits that validate. The digits of other writers, which had no part
/// in any choice, judge the network that learnt with it.
TEST(DigitsFull, AreToldByARateThatOthersChose) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const Samples validation = digits_of_writers(folder, "validation", 0, 297),
                training = digits_of_writers(folder, "training", 297, 1200),
                test = digits_of_writers(folder, "test", 1497, 300);
  for (const std::uint64_t seed : {1, 2, 3}) {
    double chosen = 0, best = -1, judged = 0;
    for (const double tried : {0.02, 0.07, 0.2}) {
      Learner learner(seed);
      const Convergence found = learner.learn(training, validation, tried, 1);
      expect_right(found);
      const double accuracy = found.epochs.back().evaluation->score;
      std::cerr << "seed " << seed << ", rate " << tried << ": validation " << accuracy << '\n';
      if (accuracy <= best) continue;
      best = accuracy;
      chosen = tried;
      judged = learner.accuracy(test);
    }
    std::cerr << "seed " << seed << ": rate " << chosen << ", test " << judged << '\n';
    EXPECT_GE(judged, 0.9) << "seed " << seed << ", rate " << chosen;
  }
}

}  // namespace test_digits
}  // namespace assay
