// Small trainings by the trainer and by the reference, as --self-check makes them.

#include "models/network/self_check.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/resnet50/definition.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/reference_claims.hpp"

namespace assay {
namespace test_self_check {

using network_test::claimed_settings;
using network_test::plugins;
using network_test::small_claims;

constexpr Precision all_precisions[] = {Precision::fp32, Precision::bf16, Precision::fp16};

TrainerSettings settings_of(const Settings& claims, Precision precision) {
  return claimed_settings(claims, precision == Precision::fp64 ? "reference" : "native", precision);
}

/// The reason why the training is wrong, "" if it is right, by rank 0.
std::string why_wrong(const TrainerSettings& settings, double rate, const Settings& claims) {
  std::string reason;
  testing_fakes::on_threads(std::stoi(claims.at("ranks")), [&](Communicator& ranks) {
    const auto trainer = network_test::made(settings, ranks);
    Verification found;
    found.passed = true;
    self_check(*trainer, rate, define_resnet(claims.at("problem")).small, claims, plugins(), ranks,
               nullptr, found);
    EXPECT_EQ(found.passed, found.reason.empty());
    EXPECT_NE(found.reference.find("by a reference trainer"), std::string::npos);
    if (ranks.rank() == 0) reason = found.reason;
  });
  return reason;
}

TEST(SelfCheck, RightTrainingsPass) {
  plugins();
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    for (const Settings& others :
         {Settings{}, Settings{{"optimizer", "lars"}, {"lag", "1"}, {"smoothing", "0.1"}},
          Settings{{"optimizer", "larc"}, {"accumulate", "3"}},
          Settings{{"optimizer", "adam"}, {"lag", "1"}},
          Settings{{"optimizer", "lamb"}, {"smoothing", "0.1"}}, Settings{{"optimizer", "rmsprop"}},
          Settings{{"optimizer", "larc-adam"}, {"accumulate", "2"}},
          Settings{{"ranks", "2"}, {"accumulate", "2"}, {"lag", "1"}}}) {
      const Settings claims = small_claims(others);
      EXPECT_EQ(why_wrong(settings_of(claims, precision), ReferenceClaims(claims).rate, claims), "")
          << name(precision);
    }
}

TEST(SelfCheck, TrainersThatDoSomethingElseAreFound) {
  for (const Precision precision : all_precisions)
    for (const auto& [what, others, change] : network_test::falsified_trainers()) {
      const Settings claims = small_claims(others);
      TrainerSettings settings = settings_of(claims, precision);
      double rate = ReferenceClaims(claims).rate;
      change(settings, rate);
      EXPECT_TRUE(why_wrong(settings, rate, claims).starts_with("--self-check: after 5 steps of "))
          << what << " instead of " << claims.at("optimizer") << " in " << name(precision);
    }
}

/// The fault is as if the mean over the ranks were the sum, or one rank's gradient were missing.
TEST(SelfCheck, AnotherNumberOfRanksIsFound) {
  plugins();
  Settings claims = small_claims({{"ranks", "2"}});
  const double rate = ReferenceClaims(claims).rate;
  const TrainerSettings settings = settings_of(claims, Precision::fp32);
  testing_fakes::on_threads(1, [&](Communicator& alone) {
    const auto trainer = network_test::made(settings, alone);
    Verification found;
    found.passed = true;
    self_check(*trainer, rate, define_resnet(claims.at("problem")).small, claims, plugins(), alone,
               nullptr, found);
    EXPECT_FALSE(found.passed);
  });
}

/// A right training has skipped steps at such scales; the reference has none.
TEST(SelfCheck, LossScalesThatOverflowAreHalved) {
  const Settings claims = small_claims();
  TrainerSettings settings = settings_of(claims, Precision::fp16);
  for (const char* scale : {"dynamic:16777216:1", "fixed:16777216"}) {
    settings.loss_scale = parse_loss_scale("--loss-scale", scale);
    EXPECT_EQ(why_wrong(settings, ReferenceClaims(claims).rate, claims), "") << scale;
  }
}

TEST(SelfCheck, AnotherDepthIsFound) {
  const Settings claims = small_claims({{"problem", "d50w4s32c5"}});
  TrainerSettings settings = settings_of(claims, Precision::fp32);
  settings.network = make_resnet({18, 4, 32, 5});
  EXPECT_NE(why_wrong(settings, ReferenceClaims(claims).rate, claims), "");
}

}  // namespace test_self_check
}  // namespace assay
