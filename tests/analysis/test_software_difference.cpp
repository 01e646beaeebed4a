// Differences of software that belong to an installation, not to the machine.

#include <gtest/gtest.h>

#include "analysis/software_difference.hpp"

namespace assay {
namespace test_software_difference {

using nlohmann::json;

TEST(Software, WhatTheMachineBringsIsNoPartOfAnInstallation) {
  const json was = {{"kernel", "6.1"},
                    {"libraries", {{"libc", "2.36"}, {"onednn", {{"version", "3.7"}}}}},
                    {"switches", json::object()}};
  json is = was;
  EXPECT_EQ(describe_software_difference(was, is), "");
  is["kernel"] = "6.2";
  is["libraries"]["libc"] = "2.41";
  EXPECT_EQ(describe_software_difference(was, is), "");
  is["libraries"]["onednn"]["version"] = "3.8";
  EXPECT_EQ(describe_software_difference(was, is),
            "/libraries/onednn/version was 3.7, now it is 3.8");
  is = was;
  is["switches"]["OMP_PROC_BIND"] = "true";
  EXPECT_EQ(describe_software_difference(was, is),
            "/switches/OMP_PROC_BIND was absent, now it is true");
  // An older version has not told the binaries. The C library's is the machine's.
  json before = was;
  is = was;
  is["binaries"] = {{"libdnnl.so.3", "build-id 1"}, {"libm.so.6", "build-id 3"}};
  EXPECT_EQ(describe_software_difference(before, is), "");
  before["binaries"] = {{"libdnnl.so.3", "build-id 1"}, {"libm.so.6", "build-id 4"}};
  EXPECT_EQ(describe_software_difference(before, is), "");
  before["binaries"]["libdnnl.so.3"] = "build-id 2";
  EXPECT_EQ(describe_software_difference(before, is),
            "/binaries/libdnnl.so.3 was build-id 2, now it is build-id 1");
}

}  // namespace test_software_difference
}  // namespace assay
