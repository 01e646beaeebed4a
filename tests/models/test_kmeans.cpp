#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "analysis_fixture.hpp"
#include "core/base/error.hpp"
#include "datasets/synthetic.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/kmeans/kmeans.hpp"
#include "tests/datasets/data_files.hpp"

namespace assay {
namespace {

using fixture::metrics_on_ranks;

TEST(Kmeans, TheSameOnAnyNumberOfRanks) {
  for (const char* start : {"random", "kmeans++"}) {
    const fixture::Flags flags{{"problem", "n607d13"}, {"backend", "reference"},
                               {"start", start},       {"clusters", "5"},
                               {"iterations", "6"},    {"data", "normal"}};
    const auto one = metrics_on_ranks(kmeans_benchmark(), flags, 1);
    EXPECT_EQ(one.at("iterations").value, 6);
    for (const int ranks : {2, 3, 4}) {
      const auto several = metrics_on_ranks(kmeans_benchmark(), flags, ranks);
      EXPECT_NEAR(several.at("inertia").value / one.at("inertia").value, 1, 1e-12) << start;
    }
  }
}

TEST(Kmeans, BackendsAndPrecisions) {
  for (const std::string& backend : fixture::host_backends())
    for (const char* precision : {"fp64", "fp32"})
      for (const char* clusters : {"1", "2", "16", "19"})
        metrics_on_ranks(kmeans_benchmark(),
                         {{"backend", backend},
                          {"precision", precision},
                          {"problem", "n997d33"},
                          {"clusters", clusters}},
                         2);
}

TEST(Kmeans, FindsPlantedClusters) {
  // Distances of d unit deviations: the inertia of right clusters is n d, less k d for the means.
  const auto found = metrics_on_ranks(kmeans_benchmark(),
                                      {{"problem", "n9000d20"},
                                       {"backend", "reference"},
                                       {"clusters", "4"},
                                       {"start", "kmeans++"},
                                       {"iterations", "50"},
                                       {"until_moved", "0"}},
                                      2);
  EXPECT_NEAR(found.at("inertia").value / (9000.0 * 20), 1, 0.02);
  EXPECT_EQ(found.at("moved").value, 0);
  EXPECT_LT(found.at("iterations").value, 50);
  EXPECT_EQ(found.at("empty_clusters").value, 0);
}

/// A table of one feature whose starting rows, as the seed 1234 chooses them, are 0, 10 and 11. The
/// rows of the second centroid lie near the others': after an iteration it is at 5.5, without rows.
std::string rows_that_leave_a_centroid() {
  std::vector<double> others(100, 4.99);
  others.insert(others.end(), 100, 10.51);
  others.insert(others.end(), 10, 5.1);
  std::mt19937_64 random(1234);
  std::map<std::uint64_t, double> starts;  // by row
  for (const double start : {0.0, 10.0, 11.0})
    while (!starts.emplace(random() % 213, start).second) continue;
  std::string text;
  auto other = others.begin();
  for (std::uint64_t row = 0; row < 213; ++row)
    text += fmt::format("{}\n", starts.contains(row) ? starts[row] : *other++);
  return text;
}

TEST(Kmeans, ACentroidWithoutRowsKeepsItsPlace) {
  const Folder folder;
  const std::string file = folder.write("rows.csv", rows_that_leave_a_centroid());
  for (const std::string& backend : fixture::host_backends())
    for (const int ranks : {1, 3})
      for (const char* precision : {"fp64", "fp32"}) {
        const auto found = metrics_on_ranks(
            kmeans_benchmark(),
            {{"data", file}, {"backend", backend}, {"precision", precision}, {"iterations", "4"}},
            ranks);
        EXPECT_EQ(found.at("empty_clusters").value, 1) << backend << ranks << precision;
      }
}

/// 3000 rows of multiples of 1/1024, which the shift leaves as they are.
std::string shifted_rows(double shift) {
  std::string text;
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i)
    for (int j = 0; j < 5; ++j)
      text +=
          fmt::format("{:.10f}{}", shift + i % 3 * 3 + static_cast<double>(random() % 2048) / 1024,
                      j < 4 ? "," : "\n");
  return text;
}

TEST(Kmeans, RowsFarFromZeroAreAssignedAsNearZero) {
  const Folder folder;
  const std::string near = folder.write("near.csv", shifted_rows(0)),
                    far = folder.write("far.csv", shifted_rows(0x1p30));
  for (const std::string& backend : fixture::host_backends())
    for (const char* clusters : {"1", "3", "4", "9"}) {
      const auto inertia = [&](const std::string& file) {
        return metrics_on_ranks(kmeans_benchmark(),
                                {{"data", file}, {"backend", backend}, {"clusters", clusters}}, 2)
            .at("inertia")
            .value;
      };
      EXPECT_NEAR(inertia(far) / inertia(near), 1, 1e-6) << backend << clusters;
    }
}

TEST(Kmeans, MoreClustersThanRowsAreRefused) {
  EXPECT_THROW(fixture::one_case(kmeans_benchmark(), {{"problem", "n3d2"}, {"clusters", "4"}}, 1),
               InputError);
  metrics_on_ranks(kmeans_benchmark(),
                   {{"problem", "n4d2"}, {"clusters", "4"}, {"backend", "reference"}}, 2);
}

TEST(Kmeans, SeveralNumbersOfClustersAreTheRunsOfEach) {
  const fixture::Flags flags{
      {"problem", "n607d13"}, {"backend", "native"}, {"data", "coral2"}, {"iterations", "2"}};
  fixture::Flags several = flags;
  several["clusters"] = "2+3+4";
  for (const int ranks : {1, 3}) {
    const auto whole = metrics_on_ranks(kmeans_benchmark(), several, ranks);
    EXPECT_EQ(whole.count("inertia"), 0u);
    for (const char* clusters : {"2", "3", "4"}) {
      fixture::Flags alone = flags;
      alone["clusters"] = clusters;
      const auto one = metrics_on_ranks(kmeans_benchmark(), alone, ranks);
      for (const auto& [name, metric] : one)
        EXPECT_EQ(whole.at(name + "_k" + clusters).value, metric.value) << name << clusters;
    }
  }
}

TEST(Kmeans, WorkOfSeveralNumbersOfClustersIsTheirSum) {
  const auto flops = [](const char* clusters) {
    const Case selected =
        fixture::one_case(kmeans_benchmark(), {{"problem", "n60d5"}, {"clusters", clusters}}, 1);
    const auto problem = kmeans_benchmark().problem(selected.settings);
    return std::pair(problem->flops(), problem->bytes());
  };
  const auto [two, two_bytes] = flops("2");
  const auto [three, three_bytes] = flops("3");
  const auto [both, both_bytes] = flops("2+3");
  EXPECT_EQ(both, two + three);
  EXPECT_EQ(both_bytes, two_bytes + three_bytes);
}

TEST(Kmeans, TellsHowManyIterationsItMade) {
  fixture::Flags flags{{"problem", "n607d13"}, {"clusters", "2+3"}, {"iterations", "100"}};
  for (const int ranks : {1, 3}) {
    flags["until_moved"] = "0";
    for (const fixture::Ran& ran : fixture::run_on_ranks(kmeans_benchmark(), flags, ranks)) {
      const double two = ran.metrics.at("iterations_k2").value,
                   three = ran.metrics.at("iterations_k3").value;
      EXPECT_LT(two + three, 200);
      EXPECT_EQ(ran.executed.numbers.at("passes"), two + three);
      EXPECT_EQ(ran.executed.algorithmic_flops, (two * 5 + three * 7) * 607 * 13);
    }
    flags["until_moved"] = "none";  // the problem tells them
    for (const fixture::Ran& ran : fixture::run_on_ranks(kmeans_benchmark(), flags, ranks)) {
      EXPECT_EQ(ran.executed.numbers.count("passes"), 0u);
      EXPECT_EQ(ran.executed.algorithmic_flops, 0);
    }
  }
}

TEST(Kmeans, MemoryCountsEveryIterationAndWhatIsVerifiedAtOnce) {
  const auto host = [](const fixture::Flags& flags) {
    const Case selected = fixture::one_case(kmeans_benchmark(), flags, 1);
    const TableSize size = parse_table(selected.settings.at("problem"));
    return kmeans_benchmark().memory(selected.settings, size.rows, size.features).host;
  };
  EXPECT_GE(host({{"problem", "n1000d250"}, {"clusters", "1000"}, {"iterations", "100000"}}),
            8.0 * 1000 * 100000 * 250);
  EXPECT_LE(host({{"problem", "n8d1048576"}, {"clusters", "2"}}), 1e9);  // 67 MB of rows
  EXPECT_GE(host({{"problem", "n100000d1"}, {"start", "kmeans++"}}), 8e5);
}

TEST(Kmeans, EachNumberOfClustersIsChecked) {
  for (const char* wrong : {"2+", "+3", "2+0", "2+x", "2+4", "2,3+"})
    EXPECT_THROW(
        fixture::one_case(kmeans_benchmark(), {{"problem", "n3d2"}, {"clusters", wrong}}, 1),
        InputError)
        << wrong;
}

/// A right trajectory, for tampering with it.
struct Right {
  ClusterTable table{{1200, 6, 5}, 3, 4};
  RowPass all{{0, 1200}, DataType::fp64, false, 1};
  Trajectory trajectory;
  std::unique_ptr<Communicator> ranks = serial_communicator();

  Right() {
    RankCalls calls(*ranks);
    KmeansSettings settings;
    settings.iterations = trajectory.iterations = 3;
    std::vector<double> x(1200 * 6);
    table.read(0, x);
    trajectory.centroids = {starting_centroids(table, all, settings, calls)};
    for (int step = 0; step < 3; ++step) iterate(x);
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
    return verify_trajectories({&claimed}, table, all, calls, seed);
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
      mine.range = rows_of(right.table.rows(), calls.rank(), calls.size());
      Trajectory claimed = right.trajectory;
      // An iteration that was not made: the run stopped before.
      claimed.centroids.push_back(std::vector<double>(18, NAN));
      double& element = claimed.centroids[3][4];
      if (differs && calls.rank() == 2) element = std::nextafter(element, 1e9);
      const Verification checked = verify_trajectories({&claimed}, right.table, mine, calls, 1);
      EXPECT_EQ(checked.passed, !differs) << checked.reason;
      EXPECT_EQ(checked.reason.starts_with("ranks"), differs) << checked.reason;
    });
}

TEST(KmeansVerification, FindsAWrongTrajectoryBesideRightOnes) {
  Right right;
  RankCalls calls(*right.ranks);
  const auto passes = [&](const std::vector<const Trajectory*>& claimed) {
    return verify_trajectories(claimed, right.table, right.all, calls, 1).passed;
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

/// Two rows at `middle`: at 0 as far from the centroid at -1 as from that at 1, so that the counts
/// are either's. The other rows are at `left`, which may be far from its centroid, and at 1.
class Between final : public Table {
 public:
  explicit Between(double left, double middle = 0) : left_(left), middle_(middle) {}
  std::int64_t rows() const override { return 4; }
  std::int64_t features() const override { return 1; }
  bool has_labels() const override { return false; }
  std::string canonical() const override { return "between"; }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double*) const override {
    const double all[] = {left_, 1, middle_, middle_};
    for (std::int64_t i = 0; i < count; ++i) x[i] = all[first + i];
  }
  double left_, middle_;
};

TEST(KmeansVerification, ACentroidWithoutRowsKeepsItsPlace) {
  const std::unique_ptr<Communicator> ranks = serial_communicator();
  RankCalls calls(*ranks);
  // The last centroid has no rows; those at 0.5 are the second one's.
  Trajectory trajectory;
  trajectory.iterations = 1;
  trajectory.counts = {{1, 3, 0}};
  trajectory.inertia = {0.5};
  for (const double place : {100.0, std::nextafter(100.0, 0), 0.0, static_cast<double>(NAN)}) {
    trajectory.centroids = {{-1, 1, 100}, {-1, 2.0 / 3, place}};
    const Verification checked = verify_trajectories({&trajectory}, Between(-1, 0.5),
                                                     {{0, 4}, DataType::fp64, false, 1}, calls, 1);
    EXPECT_EQ(checked.passed, place == 100) << place << checked.reason;
    EXPECT_EQ(checked.reason.starts_with("centroids"), place != 100) << place << checked.reason;
  }
  // Where it is as near to some rows as others it may be their mean, but is a number.
  trajectory.counts = {{3, 1, 0}};
  trajectory.inertia = {2};
  for (const double place : {1.0, static_cast<double>(NAN)}) {
    trajectory.centroids = {{-1, 1, 1}, {-1.0 / 3, 1, place}};
    const Verification checked = verify_trajectories({&trajectory}, Between(-1),
                                                     {{0, 4}, DataType::fp64, false, 1}, calls, 1);
    EXPECT_EQ(checked.passed, place == 1) << checked.reason;
  }
}

TEST(KmeansVerification, RowsBetweenTwoCentroidsMayBeWithEither) {
  const std::unique_ptr<Communicator> ranks = serial_communicator();
  RankCalls calls(*ranks);
  for (const double left : {-1.0, -9.0})
    for (const double to_first : {0.0, 1.0, 2.0}) {
      Trajectory trajectory;
      trajectory.iterations = 1;
      trajectory.centroids = {{-1, 1}, {left / (1 + to_first), 1 / (3 - to_first)}};
      trajectory.counts = {{1 + to_first, 3 - to_first}};
      trajectory.inertia = {(left + 1) * (left + 1) + 2};
      const auto verify = [&] {
        return verify_trajectories({&trajectory}, Between(left), {{0, 4}, DataType::fp64, false, 1},
                                   calls, 1);
      };
      EXPECT_TRUE(verify().passed) << left << " " << to_first << ": " << verify().reason;
      trajectory.centroids[1][0] = 10 * left;  // beyond all rows
      EXPECT_FALSE(verify().passed) << left << " " << to_first;
    }
}

TEST(KmeansVerification, DistancesDecideWhatOurScoresCannot) {
  const std::unique_ptr<Communicator> ranks = serial_communicator();
  RankCalls calls(*ranks);
  // The difference of the scores is 32 u, of 16 u that a backend's may err and 36 u of our own.
  const double middle = 8 * unit_roundoff(DataType::fp64);
  for (const double to_first : {0.0, 1.0}) {
    Trajectory trajectory;
    trajectory.iterations = 1;
    trajectory.centroids = {{-1, 1}, {-1 / (1 + to_first), 1 / (3 - to_first)}};
    trajectory.counts = {{1 + to_first, 3 - to_first}};
    trajectory.inertia = {2};
    const Verification checked = verify_trajectories({&trajectory}, Between(-1, middle),
                                                     {{0, 4}, DataType::fp64, false, 1}, calls, 1);
    EXPECT_EQ(checked.passed, to_first == 0) << checked.reason;
  }
}

}  // namespace
}  // namespace assay
