// Time that does not count as time of training is no time to read images in either.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "forwarding_batches.hpp"
#include "session.hpp"

namespace assay {
namespace test_pauses {

using network_test::Session;

/// Writes down when a batch is taken ('n') and when reading is to pause ('p').
class Observed final : public network_test::ForwardingBatches {
 public:
  Observed(std::unique_ptr<Batches> under, std::string& events)
      : ForwardingBatches(std::move(under)), events_(events) {}
  const Batch& next() override {
    events_ += 'n';
    return ForwardingBatches::next();
  }
  void pause() override { events_ += 'p'; }

 private:
  std::string& events_;
};

/// Two epochs of ten steps, each with a checked step, a validation with a checked batch, and a
/// checkpoint.
TEST(Pauses, NothingIsReadInTimeThatDoesNotCount) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("assay_pauses_{}", getpid());
  std::string training, validation;
  Session run(1);
  run.settings.target = 1.1;
  run.settings.checkpoint = file;
  run.training = std::make_unique<Observed>(std::move(run.training), training);
  run.validation = std::make_unique<Observed>(std::move(run.validation), validation);
  run.train();
  std::filesystem::remove(file);
  EXPECT_EQ(std::count(training.begin(), training.end(), 'n'), 20) << training;
  EXPECT_EQ(std::count(training.begin(), training.end(), 'p'), 4) << training;
  EXPECT_EQ(training.back(), 'p') << training;  // the last checkpoint
  EXPECT_EQ(std::count(validation.begin(), validation.end(), 'n'), 20) << validation;
  EXPECT_EQ(std::count(validation.begin(), validation.end(), 'p'), 2) << validation;
}

}  // namespace test_pauses
}  // namespace assay
