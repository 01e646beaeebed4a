#include "analysis/curves.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "analysis/table/below_rows.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace test_curves {

using nlohmann::json;
using test::collective;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Points {
  std::vector<double> bytes, seconds;
};
Points line(double alpha, double beta) {
  Points points;
  for (double size = 8; size < 1e10; size *= 8) {
    points.bytes.push_back(size);
    points.seconds.push_back(alpha + beta * size);
  }
  return points;
}

std::string curve_table(const std::vector<NamedResult>& results) {
  Page page(false);
  add_curves(page, results, make_series(results));
  return page.text();
}

TEST(AlphaBeta, AreFoundExactly) {
  const double alpha = 3.7e-6, beta = 4.1e-11;
  Points points = line(alpha, beta);
  const AlphaBeta fit = fit_alpha_beta(points.bytes, points.seconds);
  EXPECT_NEAR(fit.alpha / alpha, 1, 1e-10);
  EXPECT_NEAR(fit.beta / beta, 1, 1e-10);
  EXPECT_LT(fit.worst, 1e-10);
  EXPECT_NEAR(fit.r_squared, 1, 1e-12);
  EXPECT_LT(fit.held_out.value(), 1e-9);
  // Relative residuals: 10 % of the largest message cannot move alpha.
  points.seconds.back() *= 1.1;
  EXPECT_NEAR(fit_alpha_beta(points.bytes, points.seconds).alpha / alpha, 1, 0.02);
}

TEST(AlphaBeta, HeldOutErrorIsThatOfTheSizeThatTheFitDidNotSee) {
  Points points = line(1e-6, 1e-10);
  points.seconds[4] *= 1.5;  // without it all others are a line
  const AlphaBeta fit = fit_alpha_beta(points.bytes, points.seconds);
  EXPECT_GE(fit.held_out.value(), 1 - 1 / 1.5 - 1e-9);
  EXPECT_LT(fit.r_squared, 0.999);
  const Points three{{8, 64, 512}, {1e-6, 2e-6, 3e-6}};
  EXPECT_FALSE(fit_alpha_beta(three.bytes, three.seconds).held_out.has_value());
}

TEST(AlphaBeta, RSquaredIsOverTheBestConstant) {
  // Times that size does not explain: the constant 1.5 us is as good as any line.
  const Points points{{10, 10, 1000, 1000}, {1e-6, 2e-6, 1e-6, 2e-6}};
  EXPECT_NEAR(fit_alpha_beta(points.bytes, points.seconds).r_squared, 0, 1e-9);
}

AlphaBeta make_line(double alpha, double beta) {
  AlphaBeta line;
  line.alpha = alpha;
  line.beta = beta;
  return line;
}

TEST(Fastest, LinesFollowEachOtherWhereTheyCross) {
  const std::vector<AlphaBeta> lines{make_line(10, 1), make_line(1, 4), make_line(3, 2.5),
                                     make_line(20, 5)};
  const std::vector<Fastest> order = find_fastest(lines);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0].which, 1u);
  EXPECT_EQ(order[0].first_bytes, 0);
  EXPECT_EQ(order[1].which, 2u);
  EXPECT_NEAR(order[1].first_bytes, 2 / 1.5, 1e-12);
  EXPECT_EQ(order[2].which, 0u);
  EXPECT_NEAR(order[2].first_bytes, 7 / 1.5, 1e-12);
  // The least everywhere, by brute force.
  for (double size = 0.1; size < 20; size += 0.37) {
    std::size_t now = 0;
    while (now + 1 < order.size() && order[now + 1].first_bytes <= size) ++now;
    for (const AlphaBeta& line : lines)
      EXPECT_LE(lines[order[now].which].seconds(size), line.seconds(size) + 1e-12);
  }
}

TEST(Fastest, ALineThatIsNowhereTheLeastDoesNotAppear) {
  const std::vector<AlphaBeta> three{make_line(1, 3), make_line(6, 2.9), make_line(4, 1)};
  ASSERT_EQ(find_fastest(three).size(), 2u);
  EXPECT_EQ(find_fastest(three)[1].which, 2u);
  const std::vector<AlphaBeta> parallel{make_line(2, 1), make_line(1, 1), make_line(1, 1)};
  ASSERT_EQ(find_fastest(parallel).size(), 1u);
  EXPECT_EQ(find_fastest(parallel)[0].which, 1u);
  EXPECT_TRUE(find_fastest({}).empty());
}

std::vector<NamedResult> rivals() {
  std::vector<json> rows;
  for (const double size : {1e3, 1e4, 1e6, 1e9}) {
    rows.push_back(collective(size, 1e-6 + size * 4e-10, {{"algorithm", "tree"}}));
    rows.push_back(collective(size, 4e-6 + size * 1e-10, {{"algorithm", "ring"}}));
    rows.push_back(collective(size, 9e-6 + size * 1e-10, {{"algorithm", "slow"}}));
    rows.push_back(collective(size, 1e-7, {{"algorithm", "tree"}, {"backend", "other"}}));
  }
  return {{"", test::result(rows)}};
}

TEST(Curves, TellWhereWhichAlgorithmTakesTheLeastTime) {
  const auto results = rivals();
  const std::vector<Curve> curves = fit_curves(results, make_series(results));
  ASSERT_EQ(curves.size(), 4u);
  for (const Curve& curve : curves) {
    ASSERT_TRUE(curve.fit.has_value()) << curve.name;
    const auto has = [&](const char* text) { return curve.name.find(text) != std::string::npos; };
    if (has("backend=other")) {  // another transport is no rival
      EXPECT_EQ(curve.rivals, 0u);
      EXPECT_FALSE(curve.least.has_value());
      continue;
    }
    EXPECT_EQ(curve.rivals, 2u);
    if (has("algorithm=slow")) {
      EXPECT_FALSE(curve.least.has_value());
    } else if (has("algorithm=tree")) {
      EXPECT_EQ(curve.least->first, 0);
      EXPECT_NEAR(curve.least->second, 1e4, 1e-3);
    } else {
      EXPECT_NEAR(curve.least->first, 1e4, 1e-3);
      EXPECT_EQ(curve.least->second, infinity);
    }
  }
}

TEST(Curves, AreBelowTheTable) {
  const auto results = rivals();
  const std::string text = curve_table(results);
  for (const char* part :
       {"below 10.0 kB", "from 10.0 kB", "never", "1.00 µs", "10.0 GB/s", "1.0000", "0.0 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const std::vector<NamedResult> none{{"", test::result({test::row("ok", 1e-3)})}};
  EXPECT_EQ(curve_table(none), "");
}

std::vector<NamedResult> with_noise(double factor) {
  auto results = rivals();
  for (Row& row : results[0].result.rows)
    if (row.parameter("algorithm") == "slow" && row.problem.bytes == 1e4)
      row.time_s->median *= factor;
  return results;
}

TEST(Curves, APoorFitMakesNoClaim) {
  for (const auto& [factor, poor] : {std::pair{1.0, false}, std::pair{40.0, true}}) {
    const auto results = with_noise(factor);
    const std::vector<Curve> curves = fit_curves(results, make_series(results));
    for (const Curve& curve : curves) {
      if (curve.rivals == 0) continue;
      EXPECT_EQ(curve.comparable, !poor) << curve.name;
      if (curve.name.find("algorithm=slow") != std::string::npos) {
        EXPECT_EQ(curve.fits(), !poor) << curve.fit->r_squared;
      } else {
        EXPECT_TRUE(curve.fits());
        EXPECT_EQ(curve.least.has_value(), !poor) << curve.name;
      }
    }
    const std::string text = curve_table(results);
    for (const char* claim :
         {"below 10.0 kB", "from 10.0 kB", "never", "beyond the measured sizes"})
      EXPECT_EQ(text.find(claim) != std::string::npos, !poor) << claim << "\n" << text;
    for (const char* told : {"withheld", "R2 of an algorithm in the comparison is below 0.9",
                             "No line is shown for R2 below 0.9"})
      EXPECT_EQ(text.find(told) != std::string::npos, poor) << told << "\n" << text;
  }
}

TEST(Curves, ARivalWithFewSizesWithholdsTheClaims) {
  // At two of the four sizes it was faster than all others: a line of it, nobody has.
  auto results = rivals();
  for (const double size : {1e3, 1e6})
    results[0].result.rows.push_back(collective(size, 1e-7, {{"algorithm", "quick"}}).get<Row>());
  for (const Curve& curve : fit_curves(results, make_series(results))) {
    const bool other = curve.name.find("backend=other") != std::string::npos;
    EXPECT_EQ(curve.rivals, other ? 0u : 3u) << curve.name;
    EXPECT_EQ(curve.comparable, other) << curve.name;
    EXPECT_FALSE(curve.least.has_value()) << curve.name;
    EXPECT_EQ(curve.withholds, !curve.fit.has_value()) << curve.name;
  }
  const std::string text = curve_table(results);
  for (const char* claim : {"below 10.0 kB", "from 10.0 kB", "never", "beyond the measured sizes"})
    EXPECT_EQ(text.find(claim), std::string::npos) << claim << "\n" << text;
  for (const char* told :
       {"quick", "withheld", "an algorithm in the comparison has no line: fewer than 3 sizes."})
    EXPECT_NE(text.find(told), std::string::npos) << told << "\n" << text;
  EXPECT_EQ(text.find("R2 below"), std::string::npos) << "no line is poor\n" << text;
  // There is nothing to withhold if no curve has three sizes.
  auto few = rivals();
  std::erase_if(few[0].result.rows, [](const Row& row) { return row.problem.bytes > 1e5; });
  EXPECT_EQ(curve_table(few), "");
}

TEST(Curves, TheTableNamesWhatDiffersAlone) {
  const auto results = rivals();
  const std::string text = curve_table(results);
  const std::string head = text.substr(1, text.find('\n', 1) - 1);
  EXPECT_TRUE(head.starts_with("backend")) << head;
  EXPECT_NE(head.find("algorithm"), std::string::npos) << head;
  for (const char* constant : {"threads", "precision", "cache", "="})
    EXPECT_EQ(head.find(constant), std::string::npos) << head;
  EXPECT_LE(head.size(), 120u) << head;
}

TEST(Curves, MessageSizeIsWhatAlgbwSays) {
  std::vector<json> rows;
  for (const double size : {1e3, 1e4, 1e6}) {
    json row = collective(size, 1e-6 + size * 1e-10);
    row["problem"]["bytes"] = 2 * size;  // bytes that are moved
    row["rates"]["algbw"] = size / row["time_s"]["median"].get<double>();
    rows.push_back(row);
  }
  const std::vector<NamedResult> results{{"", test::result(rows)}};
  EXPECT_EQ(fit_curves(results, make_series(results)).at(0).bytes,
            (std::vector<double>{1e3, 1e4, 1e6}));
}

}  // namespace test_curves
}  // namespace assay
