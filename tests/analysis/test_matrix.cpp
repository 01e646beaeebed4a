// Rows of pairs as matrices.
#include "analysis/evidence.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/rows.hpp"

namespace assay {
namespace test_matrix {

using nlohmann::json;

json copy(const std::string& from, const std::string& to, double bytes, double seconds,
          Settings more = {}) {
  more.insert({{"from", from}, {"to", to}, {"problem", fmt::format("b{:.0f}", bytes)}});
  json made = test::row("ok", seconds, 0, more);
  made["benchmark"] = "copy";
  made["problem"]["buffer_bytes"] = bytes;
  made["rates"] = {{"copy_bw", bytes / made["time_s"]["median"].get<double>()}};
  return made;
}

std::vector<Matrix> matrices_of_rows(std::vector<json> rows) {
  const std::vector<NamedResult> results{{"", test::result(std::move(rows))}};
  return make_matrices(results, make_series(results));
}

std::vector<std::string> titles(const Matrix& matrix) {
  std::vector<std::string> all;
  for (const Column& column : matrix.table.columns) all.push_back(column.title);
  return all;
}

TEST(Matrix, HasALineForEachSourceAndAColumnForEachDestination) {
  const auto all = matrices_of_rows({copy("numa10", "numa2", 1 << 26, 0.01),
                                     copy("numa2", "numa10", 1 << 26, 0.02),
                                     copy("numa2", "numa2", 1 << 26, 0.005)});
  ASSERT_EQ(all.size(), 1U) << "a large copy has no latency";
  EXPECT_EQ(all[0].title, "bandwidth of copies of 64 MiB");
  EXPECT_TRUE(all[0].higher_is_better);
  EXPECT_EQ(titles(all[0]), (std::vector<std::string>{"from \\ to", "numa2", "numa10"}));
  const Table& table = all[0].table;
  ASSERT_EQ(table.lines.size(), 2U);
  EXPECT_EQ(table.lines[0].cells, (std::vector<std::string>{"numa2", "13.4 GB/s", "3.36 GB/s"}));
  EXPECT_NEAR(*table.lines[0].numbers[1], (1 << 26) / 0.005, 1);
  EXPECT_EQ(table.lines[1].cells, (std::vector<std::string>{"numa10", "6.71 GB/s", "-"}));
  EXPECT_FALSE(table.lines[1].numbers[2]);
}

TEST(Matrix, IsOneForEachKindOfCopy) {
  const auto all = matrices_of_rows({copy("a", "b", 4096, 1e-6), copy("b", "a", 4096, 2e-6),
                                     copy("a", "b", 4096, 3e-6, {{"cache", "cold"}}),
                                     copy("b", "a", 4096, 4e-6, {{"cache", "cold"}}),
                                     copy("a", "b", 4096, 5e-6, {{"threads", "4"}})});
  std::vector<std::string> names;
  for (const Matrix& matrix : all) names.push_back(matrix.title);
  EXPECT_EQ(names, (std::vector<std::string>{"bandwidth of copies of 4 KiB, cache=cold",
                                             "bandwidth of copies of 4 KiB, cache=hot",
                                             "time of copies of 4 KiB, cache=cold",
                                             "time of copies of 4 KiB, cache=hot"}));
  EXPECT_FALSE(all[3].higher_is_better);
  EXPECT_EQ(all[3].table.lines[0].cells, (std::vector<std::string>{"a", "-", "1.00 µs"}))
      << "the fastest of several numbers of threads";
}

TEST(Matrix, OfPairsOfNodesHasBothWays) {
  std::vector<NamedResult> results;
  for (const auto& [a, b, seconds] :
       {std::tuple("n1", "n2", 0.1), {"n1", "n3", 0.2}, {"n2", "n3", 0.4}}) {
    json pair = test::collective(1e6, seconds);
    pair["parameters"]["nodes"] = 2;
    NamedResult& result =
        results.emplace_back(NamedResult{fmt::format("{}+{}", a, b), test::result({pair})});
    result.result.environments.resize(1);
    result.result.environments[0].rank_hosts = {a, b};
  }
  const auto all = make_matrices(results, make_series(results));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(test::has(all[0].title, "bus bandwidth of pairs of nodes: ")) << all[0].title;
  EXPECT_EQ(titles(all[0]), (std::vector<std::string>{"node", "n1", "n2", "n3"}));
  EXPECT_EQ(all[0].table.lines[0].cells,
            (std::vector<std::string>{"n1", "", "17.5 MB/s", "8.75 MB/s"}));
  EXPECT_EQ(all[0].table.lines[2].cells,
            (std::vector<std::string>{"n3", "8.75 MB/s", "4.38 MB/s", ""}));
}

TEST(Matrix, OfOneNumberIsNone) {
  EXPECT_TRUE(matrices_of_rows({copy("a", "a", 4096, 1e-6), test::row("ok", 1)}).empty());
}

}  // namespace test_matrix
}  // namespace assay
