// Sites as data: what a site gives to a run, and what is said of a backend that cannot reach its
// accelerator.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/program/given.hpp"
#include "runner/launch/site.hpp"

namespace assay {
namespace test_site {

using nlohmann::json;

std::string said(const std::string& name, const json& software, const std::string& reason = "") {
  return said_of_devices({{name, {}, reason.empty(), reason}, software});
}

TEST(SitesOfRuns, PlaceRanksOnNodes) {
  const Site site = Site::load("fugaku-like");
  const auto placed = [&](const Arguments& given, bool suite_has_shapes = false) {
    const Arguments made = site.apply(given, suite_has_shapes);
    EXPECT_EQ(read_value(made, "launcher"), "pjsub");
    return std::pair(read_value(made, "ranks-per-node").value_or(""),
                     read_value(made, "threads-per-rank").value_or(""));
  };
  const std::pair<std::string, std::string> as_the_site{"4", "12"}, none{};
  EXPECT_EQ(placed({{"nodes", {"2"}}}), as_the_site);
  EXPECT_EQ(placed({{"pairs", {""}}}), as_the_site) << "as of `assay job --nodes` with --pairs";
  EXPECT_EQ(placed({{"nodes", {"2"}}, {"ranks-per-node", {"1"}}}).first, "1");
  EXPECT_EQ(placed({}), none);
  EXPECT_EQ(placed({{"ranks", {"2"}}}), none);
  EXPECT_EQ(placed({{"nodes", {"2"}}, {"per-node", {""}}}), none);
  EXPECT_EQ(placed({}, true).second, "12") << "the suite has the ranks";
}

TEST(DevicesOfBackends, AreNamedOrTheirLackIsExplained) {
  EXPECT_EQ(said("cuda", {{"gpu", "NVIDIA H100"}}), "its device is NVIDIA H100");
  EXPECT_EQ(said("cuda", json::object(), "libcuda.so.1 is missing"), "libcuda.so.1 is missing");
  EXPECT_EQ(said("cuda", {{"gpu", nullptr}}), "it reports no device");
  EXPECT_EQ(said("blas", {{"blas", "OpenBLAS"}}), "") << "drives processors alone";
}

TEST(DevicesOfBackends, OfOneDnnAreNotReported) {
  EXPECT_EQ(said("onednn", {{"gpu_runtime", "none"}}),
            "its library was built without a GPU runtime (SYCL or OpenCL), and this backend does "
            "not report which device it uses");
  EXPECT_EQ(said("onednn", {{"gpu_runtime", "SYCL"}}),
            "its library uses GPUs by SYCL, but this backend does not report which device it uses");
}

}  // namespace test_site
}  // namespace assay
