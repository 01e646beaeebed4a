#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analytics_fixture.hpp"
#include "core/program/options.hpp"
#include "datasets/synthetic.hpp"
#include "models/pca/benchmark.hpp"
#include "models/pca/pca.hpp"
#include "tests/datasets/data_files.hpp"

namespace assay {
namespace test_pca {

using fixture::metrics_on_ranks;

TEST(Pca, TheSameOnAnyNumberOfRanks) {
  for (const char* algorithm : {"gram", "tsqr"})
    for (const char* data : {"normal", "spectrum"}) {
      const fixture::Flags flags{{"algorithm", algorithm},
                                 {"data", data},
                                 {"problem", "n503d17"},
                                 {"backend", "reference"}};
      const auto one = metrics_on_ranks(pca_benchmark(), flags, 1);
      for (const int ranks : {2, 3, 4}) {
        const auto several = metrics_on_ranks(pca_benchmark(), flags, ranks);
        ASSERT_EQ(several.size(), one.size());
        EXPECT_NEAR(several.at("first_sd").value, one.at("first_sd").value, 1e-12) << algorithm;
        EXPECT_EQ(several.at("unresolved").value, one.at("unresolved").value);
      }
    }
}

TEST(Pca, RowsAreFlagsOfTheirOwn) {
  const auto problem = [](const fixture::Flags& flags, int ranks) {
    return fixture::one_case(pca_benchmark(), flags, ranks).settings.at("problem");
  };
  EXPECT_EQ(problem({{"rows", "1000"}}, 2), "n1000d250");
  EXPECT_EQ(problem({{"rows", "1000"}, {"features", "7"}}, 2), "n1000d7");
  EXPECT_EQ(problem({{"problem", "n5d3"}, {"rows", "1000"}}, 2), "n1000d3");
  EXPECT_EQ(problem({{"problem", "8kB"}, {"features", "10"}}, 1), "n100d10");
  EXPECT_EQ(problem({{"rows_per_rank", "100"}}, 3), "n300d250");
  EXPECT_THROW(problem({{"rows", "100"}, {"rows_per_rank", "100"}}, 3), InputError);
  EXPECT_THROW(problem({{"rows", "1000d7"}}, 2), InputError);
  const char* words[] = {"assay-pca", "--rows", "10,20", "--rows-per-rank=5"};
  int exit = -1;
  const RunRequest request = parse_benchmark_options(pca_benchmark(), 4, words, exit);
  EXPECT_EQ(request.chosen.at("rows"), (std::vector<std::string>{"10", "20"}));
  EXPECT_EQ(request.chosen.at("rows_per_rank"), (std::vector<std::string>{"5"}));
}

TEST(Pca, AWordThatNamesNoFileMayBeAMisspeltTable) {
  const auto told = [](const char* data) -> std::string {
    try {
      fixture::one_case(pca_benchmark(), {{"data", data}}, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string tables = "Generated tables are normal, spectrum.";
  EXPECT_NE(told("normals").find(tables), std::string::npos) << told("normals");
  EXPECT_NE(told("missing.csv"), "");
  EXPECT_EQ(told("missing.csv").find(tables), std::string::npos) << told("missing.csv");
}

TEST(Pca, AProcurementPrescribesTheFieldsToo) {
  for (const char* field : {"rows", "features"})
    EXPECT_THROW(fixture::one_case(pca_benchmark(), {{"conform", "coral2"}, {field, "100"}}, 1),
                 InputError)
        << field;
}

TEST(Pca, ARankMayHaveFewerRowsThanColumns) {
  const auto on = [](int ranks) {
    return metrics_on_ranks(pca_benchmark(),
                            {{"algorithm", "tsqr"}, {"problem", "n11d7"}, {"backend", "reference"}},
                            ranks);
  };
  const auto one = on(1);
  for (const int ranks : {2, 4, 11}) {  // 11: one row each
    const auto several = on(ranks);
    for (const char* name : {"first_sd", "last_sd"})
      EXPECT_NEAR(several.at(name).value / one.at(name).value, 1, 1e-12) << name << ranks;
  }
}

TEST(Pca, BackendsAndPrecisions) {
  for (const std::string& backend : fixture::host_backends())
    for (const char* precision : {"fp64", "fp32"})
      for (const char* problem : {"n2d1", "n100d1", "n50d60", "n3001d33"})
        metrics_on_ranks(pca_benchmark(),
                         {{"backend", backend}, {"precision", precision}, {"problem", problem}}, 1);
}

/// The largest difference of a variance of the planted spectrum in a sample of n rows: some
/// standard errors, variance sqrt(2 / n).
TEST(Pca, FindsThePlantedSpectrum) {
  const std::int64_t n = 20000, d = 12;
  const SpectrumTable table({n, d, 1}, 1e16);
  for (const bool tsqr : {false, true}) {
    const auto found = metrics_on_ranks(pca_benchmark(),
                                        {{"algorithm", tsqr ? "tsqr" : "gram"},
                                         {"data", "spectrum"},
                                         {"problem", "n20000d12"},
                                         {"backend", "reference"}},
                                        2);
    EXPECT_NEAR(found.at("first_sd").value, std::sqrt(table.eigenvalues().front()), 0.05);
    // The least is 1e-16 of the largest variance: below the roundoff of the Gram matrix.
    const double last = found.at("last_sd").value;
    if (tsqr) {
      EXPECT_NEAR(last / std::sqrt(table.eigenvalues().back()), 1, 0.05);
    }
    EXPECT_EQ(found.at("unresolved").value > 0, !tsqr) << "gram says what it lost";
  }
}

/// Sums about a shift that is far from the mean have larger errors than the variances; those of
/// equal rows are all in one direction.
TEST(Pca, ErrorsInFp32AreWithinTheirBoundWhateverTheOrderOfTheRows) {
  const Folder folder;
  std::string text, equal;
  for (int i = 0; i < 30000; ++i) {
    text += fmt::format("{},{},{}\n", (i < 300 ? 1000.1 : 0.3) + i % 7 * 0.31, i % 11 * 0.7, i % 3);
    equal += fmt::format("{},{}\n", i % 2 * 0.1, i % 4 / 2 * 0.7);
  }
  const std::string shifted = folder.write("shifted.csv", text),
                    categories = folder.write("categories.csv", equal);
  for (const std::string& data : {shifted, categories})
    for (const std::string& backend : fixture::host_backends())
      for (const char* precision : {"fp32", "fp64"})
        for (const int ranks : {1, 3})
          metrics_on_ranks(pca_benchmark(),
                           {{"data", data}, {"backend", backend}, {"precision", precision}}, ranks);
}

TEST(PcaVerification, BoundsInFp32DoNotGrowWithTheRows) {
  const CaseClaims gram{{{"precision", "fp32"}, {"algorithm", "gram"}, {"problem", "n9d3"}}, 1},
      tsqr{{{"precision", "fp32"}, {"algorithm", "tsqr"}, {"problem", "n9d3"}}, 1};
  const auto bound = [](const CaseClaims& claims, const char* accumulate, double rows) {
    Execution moments;
    moments.accumulate = accumulate;
    moments.operand_roundings = std::string(accumulate) == "fp64" ? 0 : 1;
    return error_of_components(rows, 50, compute_claimed_resolution(claims, moments));
  };
  const double v = unit_roundoff(DataType::fp32);
  EXPECT_NEAR(bound(gram, "fp32", 1 << 18) / (136 * v), 1, 1e-3);
  EXPECT_NEAR(bound(gram, "fp32", 1 << 26) / (136 * v), 1, 1e-2);
  EXPECT_LT(bound(gram, "fp64", 1 << 18), 2e-11) << "as the backend says";
  EXPECT_NEAR(bound(gram, "fp32", 16) / (40 * v), 1, 1e-3) << "few rows";
  EXPECT_TRUE(compute_claimed_resolution(tsqr, Execution{}).of_roots);
  EXPECT_LT(bound(tsqr, "fp32", 1 << 18), 1e-12);
}

/// Right components of a table, for tampering with them.
struct Right {
  SpectrumTable table{{2000, 9, 3}, 100};
  RowRange all{0, 2000};
  Components components{9};
  TableClaims claims;
  std::unique_ptr<Communicator> ranks = make_serial_communicator();

  Right() {
    // It uses the moments in long double and Jacobi rotations: nothing of what is tested.
    claims.rows = 2000;
    claims.features = 9;
    const std::size_t d = 9;
    std::vector<double> x(2000 * d);
    table.read(0, x);
    std::vector<long double> mean(d), c(d * d), v(d * d);
    for (std::size_t i = 0; i < x.size(); ++i) mean[i % d] += x[i] / 2000.0L;
    for (std::size_t r = 0; r < 2000; ++r)
      for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j)
          c[i * d + j] += (x[r * d + i] - mean[i]) * (x[r * d + j] - mean[j]) / 1999.0L;
    for (std::size_t i = 0; i < d; ++i) v[i * d + i] = 1;
    for (int sweep = 0; sweep < 30; ++sweep)
      for (std::size_t p = 0; p < d; ++p)
        for (std::size_t q = p + 1; q < d; ++q) rotate(c, v, p, q, d);
    std::vector<std::size_t> order(d);
    for (std::size_t i = 0; i < d; ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return c[a * d + a] < c[b * d + b]; });
    std::vector<double> variances(d), columns(d * d);
    for (std::size_t j = 0; j < d; ++j) {
      variances[j] = static_cast<double>(c[order[j] * d + order[j]]);
      for (std::size_t i = 0; i < d; ++i)
        columns[i * d + j] = static_cast<double>(v[i * d + order[j]]);
      components.mean[j] = static_cast<double>(mean[j]);
    }
    set_ascending(components, variances, columns);
  }

  static void rotate(std::vector<long double>& c, std::vector<long double>& v, std::size_t p,
                     std::size_t q, std::size_t d) {
    if (c[p * d + q] == 0) return;
    const long double angle = 0.5L * std::atan2(2 * c[p * d + q], c[p * d + p] - c[q * d + q]);
    const long double co = std::cos(angle), si = std::sin(angle);
    const auto turn = [&](long double& a, long double& b) {
      const long double x = a, y = b;
      a = co * x + si * y;
      b = -si * x + co * y;
    };
    for (std::size_t i = 0; i < d; ++i) turn(c[i * d + p], c[i * d + q]);
    for (std::size_t i = 0; i < d; ++i) turn(c[p * d + i], c[q * d + i]);
    for (std::size_t i = 0; i < d; ++i) turn(v[i * d + p], v[i * d + q]);
  }

  Verification verify(const Components& claimed, bool of_roots = true) {
    RankCalls calls(*ranks);
    return verify_components(claimed, claims, table, all,
                             {DataType::fp64, unit_roundoff(DataType::fp64), of_roots}, calls, 1,
                             7);
  }
};

TEST(PcaVerification, PassesRightComponents) {
  Right right;
  const Verification checked = right.verify(right.components);
  EXPECT_TRUE(checked.passed) << checked.reason;
  EXPECT_GT(checked.max_error, 0);
  EXPECT_LE(checked.error_over_bound, 1);
  // Signs are free.
  Components other = right.components;
  for (std::size_t i = 0; i < 9; ++i) other.directions[4 * 9 + i] *= -1;
  EXPECT_TRUE(right.verify(other).passed);
}

TEST(PcaVerification, FindsEveryWrongPart) {
  Right right;
  const auto finds = [&](const char* relation, const std::function<void(Components&)>& tamper) {
    Components wrong = right.components;
    tamper(wrong);
    const Verification checked = right.verify(wrong);
    EXPECT_FALSE(checked.passed) << relation;
    EXPECT_TRUE(checked.reason.starts_with(relation)) << relation << ": " << checked.reason;
  };
  finds("mean", [](Components& c) { c.mean[3] += 1e-9; });
  finds("residual", [](Components& c) { c.variances[8] *= 1 + 1e-6; });
  finds("residual", [](Components& c) {
    for (std::size_t i = 0; i < 9; ++i) std::swap(c.directions[3 * 9 + i], c.directions[4 * 9 + i]);
  });
  finds("orthogonality", [](Components& c) {
    // A missing direction hides behind another one of nearly no variance only in the residual.
    for (std::size_t i = 0; i < 9; ++i) c.directions[8 * 9 + i] *= 1 + 1e-8;
    c.variances[8] /= (1 + 1e-8) * (1 + 1e-8);
  });
  finds("order", [](Components& c) {
    std::swap(c.variances[0], c.variances[1]);
    for (std::size_t i = 0; i < 9; ++i) std::swap(c.directions[i], c.directions[9 + i]);
  });
  finds("mean", [](Components& c) { c.poison(); });
  Components missing = right.components;
  missing.directions[17] = NAN;
  EXPECT_FALSE(right.verify(missing).passed);
}

}  // namespace test_pca
}  // namespace assay
