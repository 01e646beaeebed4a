// Steps that compare what they compute with oracles, and are made again where gradients overflow.

#include "models/network/checked_steps.hpp"

#include <gtest/gtest.h>

#include "models/network/parity.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_checked_steps {

using network_test::made;

/// A scale that doubles after every good update overflows again before two steps in a row do not:
/// while steps are made again it only falls.
TEST(CheckedSteps, EndThoughEveryUpdateDoublesTheScale) {
  const auto alone = make_serial_communicator();
  for (const std::int64_t lag : {0, 1}) {
    TrainerSettings of = network_test::small_settings("native");
    of.executor.threads = 1;
    of.precision = Precision::fp16;
    of.lag = lag;
    of.loss_scale = parse_loss_scale("--loss-scale", "dynamic:16777216:1");
    const auto trainer = made(of, *alone);
    load_random(*trainer, 5);
    CheckedSteps checks(*trainer, *alone, 1e-9);
    const Verification found = checks.make("in a test");
    EXPECT_TRUE(found.passed) << found.reason;
    EXPECT_TRUE(checks.skipped());
    EXPECT_LT(trainer->loss_scale().skipped(), 60);
    // Afterwards it grows as the settings say.
    const double scale = trainer->loss_scale().scale();
    while (!trainer->lowered() && trainer->loss_scale().scale() <= scale) trainer->step(1e-9);
    EXPECT_TRUE(trainer->lowered() || trainer->loss_scale().scale() > scale);
  }
}

/// Else a backend seems to be wrong where a scale that was asked for is too large.
TEST(CheckedSteps, TellThatAFixedScaleMayBeTooLarge) {
  const auto alone = make_serial_communicator();
  TrainerSettings of = network_test::small_settings("native");
  of.executor.threads = 1;
  of.precision = Precision::fp16;
  of.loss_scale = parse_loss_scale("--loss-scale", "fixed:16777216");
  const auto trainer = made(of, *alone);
  load_random(*trainer, 5);
  for (const Verification& found : {CheckedSteps(*trainer, *alone, 1e-9).make("in a test"),
                                    compare_with_reference(of, network_test::plugins())}) {
    EXPECT_FALSE(found.passed);
    EXPECT_NE(found.reason.find("--loss-scale fixed:16777216 may be too large"), std::string::npos)
        << found.reason;
  }
}

/// Else a backend seems to be wrong where a training has diverged.
TEST(CheckedSteps, TellThatNoScaleHelps) {
  const auto alone = make_serial_communicator();
  for (const std::int64_t lag : {0, 1}) {
    TrainerSettings of = network_test::small_settings("native");
    of.executor.threads = 1;
    of.precision = Precision::fp16;
    of.lag = lag;
    of.loss_scale = parse_loss_scale("--loss-scale", "dynamic:1");
    const auto trainer = made(of, *alone);
    load_random(*trainer, 5);
    for (int i = 0; i < 20 && !trainer->loss_scale().has_diverged(); ++i) trainer->step(1000);
    const Verification found = CheckedSteps(*trainer, *alone, 1000).make("in a test");
    EXPECT_FALSE(found.passed);
    EXPECT_NE(found.reason.find("not finite even at a loss scale of 1"), std::string::npos)
        << found.reason;
  }
}

}  // namespace test_checked_steps
}  // namespace assay
