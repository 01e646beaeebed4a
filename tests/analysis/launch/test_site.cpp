// Sites as data: what is said of a backend that cannot reach a site's accelerator.
#include "analysis/launch/site.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

using nlohmann::json;

std::string said(const std::string& name, const json& software, const std::string& reason = "") {
  return said_of_devices({{name, {}, reason.empty(), reason}, software});
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

}  // namespace
}  // namespace assay
