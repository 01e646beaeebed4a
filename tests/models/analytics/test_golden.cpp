// The results of scikit-learn on its own data sets (data/golden.json, made by
// tests/support/make_analytics_data.py) pass the verification that results of Assay pass. Both are
// so within its bounds of the same components, iterations and objectives.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analytics_fixture.hpp"
#include "datasets/file_table.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/kmeans/kmeans.hpp"
#include "models/pca/benchmark.hpp"
#include "models/pca/pca.hpp"
#include "models/svm/benchmark.hpp"
#include "models/svm/svm.hpp"

namespace assay {
namespace test_analytics_golden {

const std::filesystem::path folder =
    std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "models" / "data";

const nlohmann::json& golden(const std::string& benchmark) {
  static const nlohmann::json all = [] {
    std::ifstream file(folder / "golden.json");
    return nlohmann::json::parse(file);
  }();
  return all.at(benchmark);
}

std::string file_of(const std::string& name) { return folder / (name + ".csv"); }

RowPass all_of(const DataTable& table, bool labels = false) {
  return {{0, table.rows()}, DataType::fp64, labels, 1};
}

std::vector<double> flat(const nlohmann::json& rows) {
  std::vector<double> all;
  for (const nlohmann::json& row : rows)
    for (const nlohmann::json& value : row) all.push_back(value);
  return all;
}

/// Runs `body` with the calls of each of 1, 2, 3 and 4 ranks.
void on_ranks(const std::function<void(RankCalls&)>& body) {
  for (const int count : {1, 2, 3, 4})
    testing_fakes::on_threads(count, [&](Communicator& communicator) {
      RankCalls calls(communicator);
      body(calls);
    });
}

struct GoldenComponents {
  std::shared_ptr<DataTable> table;
  Components components;

  explicit GoldenComponents(const std::string& name)
      : table(open_table(file_of(name))), components(table->features()) {
    const nlohmann::json& found = golden("pca").at(name);
    components.mean = found.at("mean").get<std::vector<double>>();
    components.variances = found.at("variances").get<std::vector<double>>();
    components.directions = flat(found.at("directions"));
  }

  Verification verify(const Components& claimed, RankCalls& ranks) const {
    // Singular values resolve the least variances, too: of_roots.
    TableClaims claims;
    claims.rows = table->rows();
    claims.features = table->features();
    return verify_components(claimed, claims, *table,
                             share_rows(table->rows(), ranks.rank(), ranks.size()),
                             {DataType::fp64, unit_roundoff(DataType::fp64), true}, ranks, 1, 7);
  }
};

TEST(GoldenPca, ComponentsPassTheVerification) {
  for (const char* name : {"iris", "digits", "breast_cancer"}) {
    const GoldenComponents right(name);
    on_ranks([&](RankCalls& ranks) {
      const Verification checked = right.verify(right.components, ranks);
      EXPECT_TRUE(checked.passed) << name << ": " << checked.reason;
    });
    Components wrong = right.components;
    wrong.variances[1] *= 1 + 1e-9;
    on_ranks([&](RankCalls& ranks) { EXPECT_FALSE(right.verify(wrong, ranks).passed) << name; });
  }
}

TEST(GoldenPca, DeviationsOfEveryAlgorithmAndBackend) {
  for (const char* name : {"iris", "digits", "breast_cancer"})
    for (const char* algorithm : {"gram", "tsqr"})
      for (const std::string& backend : fixture::host_backends()) {
        const auto found = fixture::metrics_on_ranks(
            pca_benchmark(),
            {{"data", file_of(name)}, {"algorithm", algorithm}, {"backend", backend}}, 2);
        const std::vector<double> variances = golden("pca").at(name).at("variances");
        const double first = std::sqrt(variances.front());
        EXPECT_NEAR(found.at("first_sd").value / first, 1, 1e-12) << name << algorithm << backend;
        // Rounding of the Gram matrix moves a variance by a part of the largest one.
        const bool gram = std::string(algorithm) == "gram";
        EXPECT_NEAR(found.at("last_sd").value, std::sqrt(variances.back()),
                    (gram ? 1e-7 : 1e-12) * first)
            << name << algorithm << backend;
      }
}

TEST(GoldenKmeans, StartsFromTheSameRows) {
  for (const auto& item : golden("kmeans").items()) {
    const std::string& name = item.key();  // no binding: clang 14 lets lambdas capture none
    const auto& found = item.value();
    const std::shared_ptr<DataTable> table = open_table(file_of(name));
    const std::vector<std::int64_t> rows = found.at("starting_rows");
    std::vector<double> expected, row(static_cast<std::size_t>(table->features()));
    for (const std::int64_t i : rows) {
      table->read(i, row);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    KmeansSettings settings;
    settings.clusters = std::ssize(rows);
    on_ranks([&](RankCalls& ranks) {
      EXPECT_EQ(starting_rows(*table, all_of(*table), settings, ranks), rows) << name;
      EXPECT_EQ(centroids_at(rows, *table, all_of(*table), ranks), expected) << name;
    });
  }
}

TEST(GoldenKmeans, CentroidsAreAFixedPoint) {
  for (const auto& item : golden("kmeans").items()) {
    const std::string& name = item.key();  // no binding: clang 14 lets lambdas capture none
    const auto& found = item.value();
    const std::shared_ptr<DataTable> table = open_table(file_of(name));
    Trajectory trajectory;
    trajectory.iterations = trajectory.passes = 1;
    trajectory.centroids.assign(2, flat(found.at("centroids")));
    trajectory.counts = {found.at("counts").get<std::vector<double>>()};
    trajectory.inertia = {found.at("inertia").get<double>()};
    const auto verify = [&](RankCalls& ranks) {
      const RowPass mine{share_rows(table->rows(), ranks.rank(), ranks.size()), DataType::fp64,
                         false, 1};
      KmeansClaims claims;
      claims.rows = table->rows();
      claims.features = table->features();
      claims.clusters = {std::ssize(trajectory.counts[0])};
      claims.start = "any";
      claims.iterations = 1;
      return verify_trajectories({&trajectory}, claims, *table, mine, ranks, 1);
    };
    on_ranks([&](RankCalls& ranks) {
      const Verification checked = verify(ranks);
      EXPECT_TRUE(checked.passed) << name << ": " << checked.reason;
    });
    trajectory.centroids[1][0] += 1e-9;
    on_ranks([&](RankCalls& ranks) { EXPECT_FALSE(verify(ranks).passed) << name; });
  }
}

TEST(GoldenSvm, ObjectiveAndAccuracyAreThoseOfTheVerification) {
  const nlohmann::json& found = golden("svm").at("breast_cancer");
  const std::unique_ptr<DataTable> table = sign_labels(open_table(file_of("breast_cancer")));
  SvmClaims claims;
  claims.rows = table->rows();
  claims.features = table->features();
  claims.nelder_mead = true;  // LIBLINEAR gives no dual solution
  claims.cost = found.at("cost");
  claims.evaluations = 0;
  SvmSolution solution;
  solution.w = found.at("w").get<std::vector<double>>();
  solution.objective = found.at("objective");
  solution.start = claims.cost * static_cast<double>(claims.rows);
  on_ranks([&](RankCalls& ranks) {
    const RowPass mine{share_rows(table->rows(), ranks.rank(), ranks.size()), DataType::fp64, true,
                       1};
    const SvmCheck checked = verify_svm(solution, claims, *table, mine, ranks);
    EXPECT_TRUE(checked.verification.passed) << checked.verification.reason;
    EXPECT_EQ(checked.accuracy, found.at("accuracy").get<double>());
    SvmSolution wrong = solution;
    wrong.w[3] += 1e-6;
    EXPECT_FALSE(verify_svm(wrong, claims, *table, mine, ranks).verification.passed);
  });
}

}  // namespace test_analytics_golden
}  // namespace assay
