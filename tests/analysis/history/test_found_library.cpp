// The library that `--blas auto` finds is part of a series.
#include <gtest/gtest.h>

#include "analysis/history/points.hpp"
#include "core/base/error.hpp"
#include "tests/analysis/history/history_runs.hpp"

namespace assay {
namespace test_found_library {

/// A run of this day, with a library of this version; "": unknown, as in older files.
NamedResult run(int day, const std::string& version, const std::string& library = "auto",
                const std::string& backend = "blas") {
  NamedResult run =
      test::history_run(day, {test::row("ok", 1, 0, {{"backend", backend}, {"blas", library}})},
                        "hw", "sw" + version);
  if (!version.empty())
    run.result.environments[0].software["libraries"]["blas"] = {{"version", version}};
  return run;
}

RowHistory history_of(const std::vector<NamedResult>& runs) {
  const History all = collect_history(runs, std::nullopt, std::nullopt);
  EXPECT_EQ(all.series.size(), 1u);
  return all.series.at(0);
}

const std::string openblas = "OpenBLAS 0.3.21 DYNAMIC_ARCH, core Haswell";

TEST(FoundLibrary, ARowOfAnotherLibraryThanItsSeriesHadIsLost) {
  for (const char* other : {"BLIS 0.9.0, zen", "/usr/lib/x86_64-linux-gnu/libblas.so.3.11.0",
                            "Intel(R) oneAPI Math Kernel Library Version 2024.2"}) {
    std::vector<NamedResult> runs{run(1, openblas), run(2, openblas), run(3, other)};
    const RowHistory lost = history_of(runs);
    EXPECT_EQ(lost.points.size(), 2u) << other;
    ASSERT_EQ(lost.gaps.size(), 1u) << other;
    EXPECT_EQ(lost.gaps[0].status, "missing");  // until it is accepted, the series is "lost"
    EXPECT_TRUE(test::has(lost.gaps[0].reason, "OpenBLAS before")) << lost.gaps[0].reason;
    runs.push_back(run(4, openblas));  // it comes back with the library
    EXPECT_EQ(history_of(runs).points.size(), 3u);
  }
}

TEST(FoundLibrary, UpdatesAndUnknownLibrariesStayInTheSeries) {
  EXPECT_EQ(history_of({run(1, openblas), run(2, "OpenBLAS 0.3.30"), run(3, ""), run(4, openblas)})
                .points.size(),
            4u);
  EXPECT_EQ(
      history_of({run(1, "/usr/lib/libblas.so.3.11.0"), run(2, "/opt/libblas.so.3")}).points.size(),
      2u);
  // An unknown one does not hide a change.
  EXPECT_EQ(history_of({run(1, openblas), run(2, ""), run(3, "BLIS 1.0")}).gaps.size(), 1u);
  // A named library has ids of its own; other backends have none.
  EXPECT_TRUE(
      history_of({run(1, openblas, "libx.so"), run(2, "BLIS 1.0", "libx.so")}).gaps.empty());
  EXPECT_TRUE(history_of({run(1, openblas, "auto", "native"), run(2, "BLIS 1.0", "auto", "native")})
                  .gaps.empty());
}

}  // namespace test_found_library
}  // namespace assay
