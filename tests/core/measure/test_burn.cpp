// The burn-in finds every run that differs, tells wrong runs from undecided ones, and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"
#include "core/measure/burn.hpp"
#include "tests/core/scripted_workload.hpp"

namespace assay {
namespace test_burn {
namespace {

/// A target whose runs are copies of inputs, some of them with flipped bits.
class FlippingTarget final : public testing_fakes::ScriptedWorkload, public BurnTarget {
 public:
  enum class Disorder { none, always, rare_low_bits, one_early };
  FlippingTarget(double probability, std::uint64_t seed, Disorder disorder = Disorder::none,
                 std::size_t elements = 64)
      : ScriptedWorkload([](int) { return 1e-6; }),
        probability_(probability),
        random_(seed),
        disorder_(disorder),
        values_(elements) {}
  Result<BurnTarget*> burn_target() override { return this; }
  std::vector<Data> burn_data() override { return {{"integers", true}, {"random", false}}; }
  void load_data(std::size_t kind) override {
    kind_ = kind;
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<float>(kind == 0 ? i % 7 : 0.1 * static_cast<double>(i + 1));
  }
  void restore() override {}
  void poison_outputs() override {
    std::ranges::fill(out_, NAN);
    ++poisoned;
  }
  void run_once() override {
    if (throws_at > 0 && runs_ == throws_at) throw CaseError("the device is lost");
    for (const auto begun = now(); long_run && now() < begun + std::chrono::microseconds(200);) {
    }
    if (!(skips_every > 0 && ++stores_ % skips_every == 0)) out_ = values_;
    wrong_ = false;
    if (runs_++ < 3) return;  // the first ones are those that are learnt
    if (disorder_ == Disorder::always && kind_ == 1) flip(runs_ % 2, 0);
    if (disorder_ == Disorder::one_early && kind_ == 1 && ++random_runs_ == 4) flip(3, 0);
    if (disorder_ == Disorder::rare_low_bits && kind_ == 1 && ++random_runs_ == 100) {
      flip(3, 0);
      ++low;
    }
    if (!(std::uniform_real_distribution<>(0, 1)(random_) < probability_)) return;
    flip(random_() % out_.size(), 20 + random_() % 11);  // beyond any bound
    wrong_ = true;
    ++injected;
  }
  std::uint64_t digest() override { return hash_bytes(out_.data(), 4 * out_.size()); }
  std::vector<BurnOutput> outputs() override {
    BurnOutput all{
        plain_tensor("dst", Role::output, DataType::fp32, {static_cast<std::int64_t>(out_.size())}),
        std::vector<std::byte>(4 * out_.size())};
    std::memcpy(all.bytes.data(), out_.data(), all.bytes.size());
    return {all};
  }
  Verification check_outputs() override {
    Verification verification;
    verification.passed = !wrong_;
    return verification;
  }

  bool is_wrong(const Elements& changed) override {
    told_elements += static_cast<long>(changed.at(0).size());
    return wrong_ || std::isnan(out_[0]);
  }

  long injected = 0, low = 0, throws_at = 0, skips_every = 0, told_elements = 0, poisoned = 0;
  bool long_run = false;  ///< much longer than its checks

 private:
  static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }
  void flip(std::size_t element, std::uint64_t bit) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &out_[element], 4);
    bits ^= std::uint32_t{1} << bit;
    std::memcpy(&out_[element], &bits, 4);
  }
  double probability_;
  std::mt19937_64 random_;
  Disorder disorder_;
  std::vector<float> values_, out_;
  std::size_t kind_ = 0;
  long runs_ = 0, random_runs_ = 0, stores_ = 0;
  bool wrong_ = false;
};

Burn burn_in(FlippingTarget& target, double seconds) {
  const auto ranks = make_serial_communicator();
  return std::get<Burn>(burn(target, *ranks, seconds));
}

// chi-square quantiles of 0.95 by scipy.stats.chi2.ppf(0.95, 2 * (n + 1)) / 2
TEST(Burn, LimitIsTheExactPoissonLimit) {
  EXPECT_NEAR(compute_poisson_limit(0, 8), 0.374466534, 1e-8);
  EXPECT_NEAR(compute_poisson_limit(1, 1), 4.743864518, 1e-8);
  EXPECT_NEAR(compute_poisson_limit(5, 2), 10.513034908 / 2, 1e-8);
  EXPECT_NEAR(compute_poisson_limit(100, 1), 118.0792, 2e-4);
  EXPECT_TRUE(std::isinf(compute_poisson_limit(0, 0)));
}

TEST(Burn, HashSeesEveryBitOfEveryWordAndPairsOfSignBits) {
  std::vector<unsigned char> bytes(1003, 0);
  const std::uint64_t right = hash_bytes(bytes.data(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= static_cast<unsigned char>(1 << bit);
      ASSERT_NE(hash_bytes(bytes.data(), bytes.size()), right) << i << ' ' << bit;
      bytes[i] ^= static_cast<unsigned char>(1 << bit);
    }
  // Bit 63 of a word and bit 28 of the next one of its lane.
  for (std::size_t word = 0; word + 72 <= 1000; word += 8) {
    bytes[word + 7] ^= 0x80, bytes[word + 64 + 3] ^= 0x10;
    ASSERT_NE(hash_bytes(bytes.data(), bytes.size()), right) << word;
    bytes[word + 7] ^= 0x80, bytes[word + 64 + 3] ^= 0x10;
  }
  for (std::size_t apart = 8; apart < 512; apart += 8) {
    bytes[7] ^= 0x80, bytes[7 + apart] ^= 0x80;
    ASSERT_NE(hash_bytes(bytes.data(), bytes.size()), right) << apart;
    bytes[7] ^= 0x80, bytes[7 + apart] ^= 0x80;
  }
  std::vector<unsigned char> large(3 << 20, 1);
  const std::uint64_t whole = hash_bytes(large.data(), large.size());
  std::swap_ranges(large.begin(), large.begin() + (1 << 18), large.begin() + (1 << 18));
  EXPECT_EQ(hash_bytes(large.data(), large.size()), whole);
  large[1 << 19] = 2;
  EXPECT_NE(hash_bytes(large.data(), large.size()), whole);
  std::swap_ranges(large.begin(), large.begin() + (1 << 18), large.begin() + (1 << 19));
  EXPECT_NE(hash_bytes(large.data(), large.size()), whole);
}

/// A burn-in of N runs that each fail with probability p finds a fault with 1 - (1 - p)^N, as
/// docs/acceptance.md says, since it misses none.
TEST(Burn, FindsFaultsWithThePredictedProbability) {
  for (const double probability : {1e-4, 3e-5}) {
    constexpr int trials = 600;
    double found = 0, predicted = 0;
    for (int trial = 0; trial < trials; ++trial) {
      FlippingTarget target(probability, 1000 + static_cast<std::uint64_t>(trial));
      const Burn burnt = burn_in(target, 1e-4);
      // Runs that repeat a faulty one are not counted: nor are faults in them.
      ASSERT_LE(burnt.faulty, static_cast<double>(target.injected));
      ASSERT_EQ(burnt.faulty > 0, judge(burnt).wrong);
      ASSERT_EQ(burnt.undecided, 0);
      found += burnt.faulty > 0;
      predicted += 1 - std::pow(1 - probability, burnt.runs);
    }
    EXPECT_NEAR(found / trials, predicted / trials, 0.05);
    EXPECT_GT(predicted, 0.05 * trials);  // it says something
  }
}

TEST(Burn, TwentyHoursOfRunsHaveNoFalseAlarm) {
  // Runs take 10 ms each.
  for (double runs = 0; runs < 20 * 3600 / 0.01;) {
    FlippingTarget target(0, 1);
    const Burn burnt = burn_in(target, 0.5);
    ASSERT_EQ(burnt.faulty + burnt.undecided, 0);
    ASSERT_TRUE(judge(burnt).reason.empty());
    runs += burnt.runs;
  }
}

TEST(Burn, NamesTheFirstWrongElement) {
  FlippingTarget target(1e-3, 5);
  const Burn burnt = burn_in(target, 0.05);
  ASSERT_GT(burnt.faulty, 0);
  ASSERT_FALSE(burnt.faults.empty());
  const BurnFault& fault = burnt.faults.front();
  EXPECT_EQ(fault.elements, 1);
  EXPECT_TRUE(fault.place.starts_with("dst[")) << fault.place;
  const auto bits = [](const std::string& text) { return std::stoul(text, nullptr, 16); };
  EXPECT_EQ(bits(fault.expected) ^ bits(fault.actual), bits(fault.differing_bits));
  EXPECT_EQ(std::popcount(bits(fault.differing_bits)), 1);
  EXPECT_NE(judge(burnt).reason.find(fault.place), std::string::npos);
}

TEST(Burn, SumsWithoutOrderAreExcludedAndNoFault) {
  FlippingTarget target(0, 1, FlippingTarget::Disorder::always);
  const Burn burnt = burn_in(target, 0.05);
  EXPECT_EQ(burnt.faulty + burnt.undecided, 0);
  EXPECT_TRUE(judge(burnt).reason.empty()) << judge(burnt).reason;  // integers have shown it
  EXPECT_TRUE(burnt.data[0].excluded.empty());
  EXPECT_NE(burnt.data[1].excluded.find("no fixed order"), std::string::npos);
  EXPECT_EQ(burnt.runs, burnt.data[0].runs);
}

TEST(Burn, ALowBitLaterIsUndecided) {
  Burn burnt;
  for (double seconds = 0.05, low = 0; low == 0; seconds *= 2) {
    FlippingTarget target(0, 1, FlippingTarget::Disorder::rare_low_bits);
    burnt = burn_in(target, seconds);
    low = static_cast<double>(target.low);
  }
  EXPECT_EQ(burnt.undecided, 1);
  EXPECT_EQ(burnt.faulty, 0);
  EXPECT_TRUE(judge(burnt).unsupported);
}

TEST(Burn, ARunThatStoresNothingIsFound) {
  FlippingTarget target(0, 1);
  target.skips_every = 100;
  target.long_run = true;
  Burn burnt;
  for (double seconds = 0.3; burnt.runs < 1000; seconds *= 2) burnt = burn_in(target, seconds);
  // Some of those that skip repeat others, or are not compared.
  ASSERT_GE(burnt.faulty, 0.5 * burnt.runs / 100);
  EXPECT_EQ(burnt.faults.front().elements, 64);
}

TEST(Burn, OfShortRunsThatStoreNothingOneOfSeventeenIsFound) {
  FlippingTarget target(0, 1);
  target.skips_every = 300;
  const Burn burnt = burn_in(target, 0.5);
  ASSERT_GT(burnt.runs, 50000);
  EXPECT_GE(burnt.faulty, 0.5 * burnt.runs / 300 / 17);
  EXPECT_LE(burnt.faulty, burnt.runs / 300 / 4);
}

TEST(Burn, OutputsOfRunsAsShortAsTheirChecksArePoisonedBeforeOneOfSeventeen) {
  FlippingTarget target(0, 1);
  const Burn burnt = burn_in(target, 0.2);
  EXPECT_GE(static_cast<double>(target.poisoned), burnt.runs / 17);
  EXPECT_LE(static_cast<double>(target.poisoned), burnt.runs / 8);
  EXPECT_LE(burnt.poisoned, static_cast<double>(target.poisoned));
  EXPECT_GE(burnt.poisoned, static_cast<double>(target.poisoned) - 10) << "first and last runs";
}

TEST(Burn, ARareLowBitInTheFirstRunsIsNoOrderOfSums) {
  FlippingTarget target(0, 1, FlippingTarget::Disorder::one_early);
  const Burn burnt = burn_in(target, 0.5);  // long enough for both kinds of data
  EXPECT_EQ(burnt.undecided, 1);
  EXPECT_TRUE(burnt.data[1].excluded.empty()) << burnt.data[1].excluded;
  EXPECT_TRUE(judge(burnt).unsupported);
  EXPECT_EQ(target.told_elements, 1);
  ASSERT_EQ(burnt.faults.size(), 1U);
  EXPECT_EQ(burnt.faults[0].place, "dst[3]");
}

TEST(Burn, WhatWasFoundBeforeARunThrowsIsKept) {
  FlippingTarget target(1e-2, 5);
  target.throws_at = 5000;
  const auto ranks = make_serial_communicator();
  std::optional<Burn> kept;
  EXPECT_THROW(burn(target, *ranks, 60, &kept), CaseError);
  ASSERT_TRUE(kept);
  EXPECT_GT(kept->runs, 4000);
  EXPECT_GT(kept->faulty, 10);
  EXPECT_GT(kept->device_hours, 0);
  EXPECT_TRUE(judge(*kept).wrong);
}

TEST(Burn, WindowsAreAlikeAndACutOneIsLeftOut) {
  FlippingTarget target(0, 1);
  const Burn burnt = burn_in(target, 2.7);  // of 0.9 s each
  ASSERT_GE(burnt.windows.size(), 2U);
  EXPECT_LE(burnt.windows.size(), 7U);
  double runs = 0;
  for (const Burn::Window& window : burnt.windows) runs += window.runs;
  EXPECT_LE(runs, burnt.runs);
  EXPECT_TRUE(burn_in(target, 0.2).windows.empty());
}

TEST(Burn, IsTheSameInAFile) {
  FlippingTarget target(1e-3, 5);
  const Burn burnt = burn_in(target, 0.02);
  const nlohmann::json document = burnt;
  EXPECT_EQ(nlohmann::json(document.get<Burn>()), document);
}

}  // namespace
}  // namespace test_burn
}  // namespace assay
