// Clocks of ranks are aligned: the stated error contains the truth, however messages are delayed.

#include "core/measure/clock_offset.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "thread_communicator.hpp"

namespace assay {
namespace test_clock_offset {

/// Two clocks by true time: the other one is rank 0's.
struct Clocks {
  double offset, rate;  ///< of this rank's clock over the true time, which is the other's
  double mine(double time) const { return time + offset + rate * time; }
  double difference(double time) const { return mine(time) - time; }
};

struct Delays {
  double there, back, spread;
};

/// The offset by 20 messages from `now` on, each with delays of its own.
ClockOffset estimate(const Clocks& clocks, const Delays& delays, double& now,
                     std::mt19937_64& random) {
  std::exponential_distribution<double> more(1);
  OffsetEstimate found;
  for (int i = 0; i < 20; ++i) {
    const double asked = now, theirs = asked + delays.there + delays.spread * more(random);
    now = theirs + delays.back + delays.spread * more(random);
    found.add(clocks.mine(asked), theirs, clocks.mine(now));
    now += 1e-6;
  }
  return found.middle();
}

TEST(OffsetEstimate, TheErrorContainsTheTruthForAnyDelaysAndDrift) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int trial = 0; trial < 5000; ++trial) {
    const Clocks clocks{1e3 * (unit(random) - 0.5), 1.9e-4 * (2 * unit(random) - 1)};
    // Up to all of the delay is in one direction.
    const double delay = std::pow(10, -6 + 4 * unit(random)), part = unit(random);
    const Delays delays{part * delay, (1 - part) * delay, unit(random) * delay};
    double now = 100 * unit(random);
    const ClockOffset found = estimate(clocks, delays, now, random);
    ASSERT_LE(std::abs(found.offset - clocks.difference(now)), found.error + 1e-10);
    // It is that of the shortest trip or better, and of what clocks drift meanwhile.
    ASSERT_LE(found.error, delay * (1 + 6 * delays.spread / delay) / 2 + 2e-4 * 100 * delay);
  }
}

TEST(OffsetEstimate, AsymmetricDelaysShiftTheOffsetWithinItsError) {
  std::mt19937_64 random(1);
  double now = 0;
  const ClockOffset found = estimate({5, 0}, {1e-3, 0, 0}, now, random);
  EXPECT_NEAR(found.offset, 4.9995, 1e-5);  // half of the trip is wrong
  EXPECT_NEAR(found.error, 5e-4, 1e-5);
}

TEST(OffsetEstimate, OfTwoShortDirectionsItKeepsTheBest) {
  OffsetEstimate found;
  found.add(0, 1e-6, 1e-3);               // the way there was short
  found.add(2e-3, 3e-3, 3e-3 + 1e-6);     // the way back was
  EXPECT_LT(found.middle().error, 5e-6);  // no trip was shorter than 1 ms
  EXPECT_LE(std::abs(found.middle().offset), found.middle().error);
}

TEST(OffsetEstimate, AClockThatJumpsHasAnInfiniteError) {
  OffsetEstimate found;
  found.add(0, 0, 1e-5);
  found.add(1, 2, 1 + 1e-5);
  EXPECT_TRUE(std::isinf(found.middle().error));
  EXPECT_TRUE(std::isinf(alignment_error({0, 0, 0}, found.middle())));
}

TEST(Aligned, TheErrorContainsTheTruthWhileClocksDrift) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    const double rate = 1e-4 * unit(random), bend = unit(random), span = 0.1 + 10 * unit(random);
    // The faster clock stays the faster one, but not by the same amount.
    const auto difference = [&](double time) {
      return 7 + rate * span * std::pow(std::min(1.0, time / span), 0.2 + 3 * bend);
    };
    const double error = 1e-5 * unit(random);
    const auto offset = [&](double time) {
      return ClockOffset{time + difference(time), difference(time) + error * (2 * unit(random) - 1),
                         error};
    };
    const ClockOffset before = offset(0), after = offset(span);
    const double stated = alignment_error(before, after);
    for (int i = 0; i <= 20; ++i) {
      const double time = span * i / 20;
      ASSERT_LE(std::abs(align(time + difference(time), before, after) - time), stated + 1e-10);
    }
  }
}

TEST(Aligned, AConstantDriftIsTakenOut) {
  const ClockOffset before{0, 1, 0}, after{10, 1.001, 0};
  EXPECT_NEAR(align(0, before, after), -1, 1e-12);
  EXPECT_NEAR(align(5, before, after), 5 - 1.0005, 1e-12);
  EXPECT_NEAR(align(10, before, after), 10 - 1.001, 1e-12);
}

TEST(ClockOffset, RanksOfAHostReadOneClockAndOthersExchangeMessages) {
  testing_fakes::on_threads(
      4,
      [](Communicator& ranks) {
        const ClockOffset found = measure_clock_offset(ranks);
        // Threads have one clock, but their hosts have two names.
        EXPECT_LE(std::abs(found.offset), found.error);
        EXPECT_EQ(found.error > 0, ranks.rank() >= 2) << ranks.rank();
        EXPECT_LT(found.error, 1);
      },
      2);
}

}  // namespace test_clock_offset
}  // namespace assay
