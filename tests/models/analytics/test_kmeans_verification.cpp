// Falsified histories of K-means: the verification finds each.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analytics_fixture.hpp"
#include "datasets/synthetic.hpp"
#include "models/kmeans/kmeans.hpp"
#include "tests/models/analytics/given_table.hpp"

namespace assay {
namespace test_kmeans_verification {

using fixture::GivenTable;

/// A right trajectory, for tampering with it.
struct Right {
  ClusterTable table{{1200, 6, 5}, 3, 4};
  RowPass all{{0, 1200}, DataType::fp64, false, 1};
  KmeansClaims claims;
  Trajectory trajectory;
  std::unique_ptr<Communicator> ranks = make_serial_communicator();

  explicit Right(const char* start = "random", int iterations = 3) {
    RankCalls calls(*ranks);
    KmeansSettings settings;
    settings.plus_plus = std::string(start) == "kmeans++";
    settings.iterations = trajectory.iterations = iterations;
    claims.rows = 1200;
    claims.features = 6;
    claims.clusters = {3};
    claims.start = start;
    claims.iterations = trajectory.passes = iterations;
    std::vector<double> x(1200 * 6);
    table.read(0, x);
    trajectory.start_rows = starting_rows(table, all, settings, calls);
    trajectory.centroids = {centroids_at(trajectory.start_rows, table, all, calls)};
    for (int step = 0; step < iterations; ++step) iterate(x);
    trajectory.moved = moved(static_cast<std::size_t>(iterations) - 1);
  }

  /// The largest move in an iteration, as the documentation defines it.
  double moved(std::size_t step) const {
    double farthest = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      double squared = 0;
      for (std::size_t j = 6 * c; j < 6 * c + 6; ++j)
        squared += std::pow(trajectory.centroids[step + 1][j] - trajectory.centroids[step][j], 2);
      farthest = std::max(farthest, squared);
    }
    return std::sqrt(farthest / (trajectory.inertia[step] / 1200));
  }

  /// The same trajectory, as if it had stopped before.
  Trajectory stopped_after(int iterations) const {
    Trajectory shorter = trajectory;
    shorter.iterations = iterations;
    shorter.passes = iterations;
    shorter.moved = moved(static_cast<std::size_t>(iterations) - 1);
    return shorter;
  }

  void iterate(const std::vector<double>& x) {
    std::vector<double> from = trajectory.centroids.back(), sums(18), counts(3);
    double inertia = 0;
    for (std::size_t i = 0; i < 1200; ++i) {
      double least = INFINITY;
      std::size_t nearest = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        double distance = 0;
        for (std::size_t j = 0; j < 6; ++j) distance += std::pow(x[i * 6 + j] - from[c * 6 + j], 2);
        if (distance < least) {
          least = distance;
          nearest = c;
        }
      }
      for (std::size_t j = 0; j < 6; ++j) sums[nearest * 6 + j] += x[i * 6 + j];
      counts[nearest] += 1;
      inertia += least;
    }
    for (std::size_t i = 0; i < 18; ++i) from[i] = sums[i] / counts[i / 6];
    trajectory.centroids.push_back(from);
    trajectory.counts.push_back(counts);
    trajectory.inertia.push_back(inertia);
  }

  Verification verify(const Trajectory& claimed, std::uint64_t seed = 1) {
    RankCalls calls(*ranks);
    return verify_trajectories({&claimed}, claims, table, all, calls, seed);
  }
};

TEST(KmeansVerification, PassesARightTrajectory) {
  Right right;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Verification checked = right.verify(right.trajectory, seed);
    EXPECT_TRUE(checked.passed) << checked.reason;
  }
}

TEST(KmeansVerification, FindsEveryWrongPart) {
  Right right;
  const auto finds = [&](const char* relation, const std::function<void(Trajectory&)>& tamper) {
    Trajectory wrong = right.trajectory;
    tamper(wrong);
    const Verification checked = right.verify(wrong);
    EXPECT_FALSE(checked.passed) << relation;
    EXPECT_TRUE(checked.reason.starts_with(relation)) << relation << ": " << checked.reason;
  };
  finds("centroids", [](Trajectory& t) { t.centroids[3][7] += 1e-9; });
  finds("centroids", [](Trajectory& t) { t.centroids[1][0] = NAN; });
  finds("counts", [](Trajectory& t) {
    t.counts[0][0] += 1;
    t.counts[0][1] -= 1;
  });
  finds("inertia", [](Trajectory& t) { t.inertia[2] *= 1 + 1e-9; });
  finds("inertia", [](Trajectory& t) { t.inertia[0] = NAN; });
  finds("counts", [](Trajectory& t) { t.iterations = 0; });
}

TEST(KmeansVerification, RanksHaveTheSameBits) {
  const Right right;
  for (const bool differs : {false, true})
    testing_fakes::on_threads(3, [&](Communicator& communicator) {
      RankCalls calls(communicator);
      RowPass mine = right.all;
      mine.range = share_rows(right.table.rows(), calls.rank(), calls.size());
      Trajectory claimed = right.trajectory;
      // An iteration that was not made: the run stopped before.
      claimed.centroids.push_back(std::vector<double>(18, NAN));
      double& element = claimed.centroids[3][4];
      if (differs && calls.rank() == 2) element = std::nextafter(element, 1e9);
      const Verification checked =
          verify_trajectories({&claimed}, right.claims, right.table, mine, calls, 1);
      EXPECT_EQ(checked.passed, !differs) << checked.reason;
      EXPECT_EQ(checked.reason.starts_with("ranks"), differs) << checked.reason;
    });
}

TEST(KmeansVerification, FindsAWrongTrajectoryBesideRightOnes) {
  Right right;
  RankCalls calls(*right.ranks);
  const auto passes = [&](const std::vector<const Trajectory*>& claimed) {
    KmeansClaims claims = right.claims;
    claims.clusters.assign(claimed.size(), 3);
    return verify_trajectories(claimed, claims, right.table, right.all, calls, 1).passed;
  };
  Trajectory wrong = right.trajectory, none = right.trajectory;
  wrong.inertia[2] *= 1 + 1e-9;
  none.iterations = 0;
  EXPECT_TRUE(passes({&right.trajectory, &right.trajectory}));
  EXPECT_FALSE(passes({&wrong, &right.trajectory}));
  EXPECT_FALSE(passes({&right.trajectory, &wrong}));
  EXPECT_FALSE(passes({&right.trajectory, &none}));
  EXPECT_FALSE(passes({&none}));
}

TEST(KmeansVerification, ARandomIterationIsAmongTheChecked) {
  Right right;
  Trajectory wrong = right.trajectory;
  wrong.inertia[1] *= 2;  // neither the first nor the last
  int found = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) found += !right.verify(wrong, seed).passed;
  EXPECT_GT(found, 8);
  EXPECT_LT(found, 40);
}

TEST(KmeansVerification, FindsOtherIterationsThanTheCaseNames) {
  Right right("random", 6);
  const auto reason = [&](const Trajectory& claimed) { return right.verify(claimed).reason; };
  EXPECT_EQ(reason(right.trajectory), "");
  EXPECT_TRUE(reason(right.stopped_after(3)).starts_with("stop")) << "half of the iterations";
  right.claims.iterations = 5;
  EXPECT_TRUE(reason(right.trajectory).starts_with("stop")) << "more than the most";
  right.claims.iterations = 6;
  Trajectory wrong = right.trajectory;
  wrong.passes = 3;
  EXPECT_TRUE(reason(wrong).starts_with("passes")) << "iterations without the kernel";
  wrong = right.trajectory;
  for (std::vector<double>& counts : wrong.counts) counts[0] -= 1;
  EXPECT_FALSE(right.verify(wrong).passed);
}

TEST(KmeansVerification, FindsAStopThatItsRuleDoesNotJustify) {
  Right right("random", 6);
  const auto reason = [&](int iterations) {
    return right.verify(right.stopped_after(iterations)).reason;
  };
  // Moves fall here from step to step.
  ASSERT_GT(right.moved(0), right.moved(1));
  ASSERT_GT(right.moved(1), 0);
  right.claims.iterations = 100;
  right.claims.until_moved = 1.001 * right.moved(1);
  EXPECT_EQ(reason(2), "");
  EXPECT_TRUE(reason(1).starts_with("stop")) << "too early";
  EXPECT_TRUE(reason(3).starts_with("stop")) << "too late";
  right.claims.until_moved = right.moved(1) / 100;
  EXPECT_TRUE(reason(2).starts_with("stop")) << "at a tolerance that is 100 times too large";
  right.claims.iterations = 2;
  EXPECT_EQ(reason(2), "") << "all iterations are made";

  Trajectory wrong = right.stopped_after(2);
  for (const double moved : {0.0, wrong.moved / 100, wrong.moved * (1 + 1e-12), std::nan("")}) {
    wrong.moved = moved;
    EXPECT_TRUE(right.verify(wrong).reason.starts_with("moved")) << moved;
  }
}

TEST(KmeansVerification, FindsOtherNumbersOfCentroids) {
  Right right;
  RankCalls calls(*right.ranks);
  for (const std::vector<std::int64_t>& clusters :
       {std::vector<std::int64_t>{6}, {2}, {3, 3}, {}, {3, 4}}) {
    KmeansClaims claims = right.claims;
    claims.clusters = clusters;
    claims.start = "any";
    const Verification checked =
        verify_trajectories({&right.trajectory}, claims, right.table, right.all, calls, 1);
    EXPECT_TRUE(checked.reason.starts_with("clusters")) << checked.reason;
  }
  right.claims.rows = 2400;
  EXPECT_TRUE(right.verify(right.trajectory).reason.starts_with("rows"));
}

TEST(KmeansVerification, FindsAStartThatTheSeedDoesNotChoose) {
  for (const char* start : {"random", "kmeans++"}) {
    Right right(start);
    const Verification good = right.verify(right.trajectory);
    EXPECT_TRUE(good.passed) << start << good.reason;
    // Another row of the table, with a right trajectory from there on.
    for (const std::size_t c : {0, 1, 2}) {
      Right other(start);
      RankCalls calls(*other.ranks);
      Trajectory& wrong = other.trajectory;
      wrong.start_rows[c] = (wrong.start_rows[c] + 601) % 1200;
      wrong.centroids = {centroids_at(wrong.start_rows, other.table, other.all, calls)};
      wrong.counts.clear();
      wrong.inertia.clear();
      std::vector<double> x(1200 * 6);
      other.table.read(0, x);
      for (int step = 0; step < 3; ++step) other.iterate(x);
      wrong.moved = other.moved(2);
      const Verification checked = other.verify(wrong);
      EXPECT_TRUE(checked.reason.starts_with("start")) << start << c << ": " << checked.reason;
    }
    // No row of the table.
    Trajectory wrong = right.trajectory;
    wrong.start_rows[1] = wrong.start_rows[2];
    EXPECT_TRUE(right.verify(wrong).reason.starts_with("start")) << start;
    right.claims.seed += 1;
    EXPECT_TRUE(right.verify(right.trajectory).reason.starts_with("start")) << start;
  }
}

/// Two rows at `middle`: at 0 as far from the centroid at -1 as from that at 1, so that the counts
/// are either's. The other rows are at `left`, which may be far from its centroid, and at 1.
GivenTable between(double left, double middle = 0) {
  return {4, 1, [=](std::int64_t row, std::int64_t) {
            return row == 0 ? left : row == 1 ? 1 : middle;
          }};
}

/// Verifies one iteration, from any centroids.
Verification verify_one(Trajectory trajectory, const DataTable& table, RankCalls& ranks) {
  const std::vector<double>&from = trajectory.centroids[0], &to = trajectory.centroids[1];
  double farthest = 0;
  for (std::size_t c = 0; c < from.size(); ++c)
    farthest = std::max(farthest, std::pow(to[c] - from[c], 2));
  trajectory.passes = 1;
  trajectory.moved = farthest == 0 ? 0 : std::sqrt(farthest / (trajectory.inertia[0] / 4));
  KmeansClaims claims;
  claims.rows = 4;
  claims.features = 1;
  claims.clusters = {std::ssize(from)};
  claims.start = "any";
  claims.iterations = 1;
  return verify_trajectories({&trajectory}, claims, table, {{0, 4}, DataType::fp64, false, 1},
                             ranks, 1);
}

TEST(KmeansVerification, ACentroidWithoutRowsKeepsItsPlace) {
  const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  RankCalls calls(*ranks);
  // The last centroid has no rows; those at 0.5 are the second one's.
  Trajectory trajectory;
  trajectory.iterations = 1;
  trajectory.counts = {{1, 3, 0}};
  trajectory.inertia = {0.5};
  for (const double place : {100.0, std::nextafter(100.0, 0), 0.0, static_cast<double>(NAN)}) {
    trajectory.centroids = {{-1, 1, 100}, {-1, 2.0 / 3, place}};
    const Verification checked = verify_one(trajectory, between(-1, 0.5), calls);
    EXPECT_EQ(checked.passed, place == 100) << place << checked.reason;
    EXPECT_EQ(checked.reason.starts_with("centroids"), place != 100) << place << checked.reason;
  }
  // A centroid that is as near to some rows as others may be their mean, but is a number.
  trajectory.counts = {{3, 1, 0}};
  trajectory.inertia = {2};
  for (const double place : {1.0, static_cast<double>(NAN)}) {
    trajectory.centroids = {{-1, 1, 1}, {-1.0 / 3, 1, place}};
    const Verification checked = verify_one(trajectory, between(-1), calls);
    EXPECT_EQ(checked.passed, place == 1) << checked.reason;
  }
}

TEST(KmeansVerification, RowsBetweenTwoCentroidsMayBeWithEither) {
  const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  RankCalls calls(*ranks);
  for (const double left : {-1.0, -9.0})
    for (const double to_first : {0.0, 1.0, 2.0}) {
      Trajectory trajectory;
      trajectory.iterations = 1;
      trajectory.centroids = {{-1, 1}, {left / (1 + to_first), 1 / (3 - to_first)}};
      trajectory.counts = {{1 + to_first, 3 - to_first}};
      trajectory.inertia = {(left + 1) * (left + 1) + 2};
      const auto verify = [&] { return verify_one(trajectory, between(left), calls); };
      EXPECT_TRUE(verify().passed) << left << " " << to_first << ": " << verify().reason;
      trajectory.centroids[1][0] = 10 * left;  // beyond all rows
      EXPECT_FALSE(verify().passed) << left << " " << to_first;
    }
}

TEST(KmeansVerification, DistancesDecideWhatOurScoresCannot) {
  const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  RankCalls calls(*ranks);
  // The difference of the scores is 32 u, of 16 u that a backend's may err and 36 u of our own.
  const double middle = 8 * unit_roundoff(DataType::fp64);
  for (const double to_first : {0.0, 1.0}) {
    Trajectory trajectory;
    trajectory.iterations = 1;
    trajectory.centroids = {{-1, 1}, {-1 / (1 + to_first), 1 / (3 - to_first)}};
    trajectory.counts = {{1 + to_first, 3 - to_first}};
    trajectory.inertia = {2};
    const Verification checked = verify_one(trajectory, between(-1, middle), calls);
    EXPECT_EQ(checked.passed, to_first == 0) << checked.reason;
  }
}

}  // namespace test_kmeans_verification
}  // namespace assay
