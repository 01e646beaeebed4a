// What fresh launches of two builds answer.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analysis/history/confirm.hpp"
#include "analysis/history/installation.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<double> launches(double seconds, double spread = 0.002) {
  std::vector<double> all;
  for (int i = 0; i < 12; ++i) all.push_back(seconds * (1 + spread * ((i * 5) % 12 - 6) / 6));
  return all;
}

std::string answer(double promoted, double updated, double spread = 0.002) {
  const json told =
      answer_of(launches(promoted, spread), launches(updated, spread * 1.1), 1, 0.05, 0.01);
  EXPECT_FALSE(told["reason"].get<std::string>().empty());
  return told["answer"];
}

TEST(Confirm, SoftwareMachineOrNoise) {
  EXPECT_EQ(answer(1, 1.1), "software slower");
  EXPECT_EQ(answer(1.1, 1.1), "machine slower");
  EXPECT_EQ(answer(1, 1), "noise");
  EXPECT_EQ(answer(1, 0.9), "noise");
  EXPECT_EQ(answer(1, 1.03), "noise") << "it is tolerated";
  EXPECT_EQ(answer(1, 1.05), "software slower") << "it is not chance, and not surely tolerated";
  EXPECT_EQ(answer(1, 0.95), "noise");
  EXPECT_EQ(answer(1.2, 1.0), "noise") << "the new build is as fast as what was promoted";
  EXPECT_EQ(answer(1.1, 1.21), "software slower");
  EXPECT_EQ(answer(1.08, 1.08, 0.2), "noise") << "not shown by launches that vary by 20 %";
}

TEST(Confirm, TheAnswerTellsItsNumbers) {
  const json told = answer_of(launches(1), launches(1.1), 1, 0.05, 0.01);
  EXPECT_NEAR(told["ratio"].get<double>(), 1.1, 0.002);
  EXPECT_LE(told["p"].get<double>(), 0.01);
  EXPECT_GT(told["interval"][0].get<double>(), 1.05);
  EXPECT_EQ(told["level_s"], 1.0);
}

class Installation : public testing::Test {
 protected:
  Installation() {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "lib" / "assay");
    write("bin/assay-conv", "#!/bin/sh\n");
    fs::permissions(folder_ / "bin" / "assay-conv", fs::perms::owner_all);
    write("lib/assay/libassay_x.so", "plugin");
  }
  ~Installation() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  json hash() {
    return installation_of(checked_executable_folder(folder_.string(), "--confirm"))["hash"];
  }
  fs::path folder_ =
      fs::path(testing::TempDir()) / ("assay-installation-" + std::to_string(getpid()));
};

TEST_F(Installation, IsKnownByItsContent) {
  EXPECT_EQ(checked_executable_folder(folder_.string(), "--confirm"), folder_ / "bin");
  EXPECT_EQ(checked_executable_folder((folder_ / "bin" / "assay-conv").string(), "--confirm"),
            folder_ / "bin");
  EXPECT_THROW(checked_executable_folder((folder_ / "lib").string(), "--confirm"), InputError);
  const json first = hash();
  EXPECT_EQ(hash(), first);
  write("lib/assay/libassay_x.so", "plugim");
  EXPECT_NE(hash(), first);
  write("lib/assay/libassay_x.so", "plugin");
  EXPECT_EQ(hash(), first);
  write("bin/assay-conv", "#!/bin/bash\n");
  EXPECT_NE(hash(), first);
}

TEST(Software, WhatTheMachineBringsIsNoPartOfAnInstallation) {
  const json was = {{"kernel", "6.1"},
                    {"libraries", {{"libc", "2.36"}, {"onednn", {{"version", "3.7"}}}}},
                    {"switches", json::object()}};
  json is = was;
  EXPECT_EQ(software_difference(was, is), "");
  is["kernel"] = "6.2";
  is["libraries"]["libc"] = "2.41";
  EXPECT_EQ(software_difference(was, is), "");
  is["libraries"]["onednn"]["version"] = "3.8";
  EXPECT_EQ(software_difference(was, is), "/libraries/onednn/version was 3.7, now it is 3.8");
  is = was;
  is["switches"]["OMP_PROC_BIND"] = "true";
  EXPECT_EQ(software_difference(was, is), "/switches/OMP_PROC_BIND was absent, now it is true");
  // An older version has not told the binaries. The C library's is the machine's.
  json before = was;
  is = was;
  is["binaries"] = {{"libdnnl.so.3", "build-id 1"}, {"libm.so.6", "build-id 3"}};
  EXPECT_EQ(software_difference(before, is), "");
  before["binaries"] = {{"libdnnl.so.3", "build-id 1"}, {"libm.so.6", "build-id 4"}};
  EXPECT_EQ(software_difference(before, is), "");
  before["binaries"]["libdnnl.so.3"] = "build-id 2";
  EXPECT_EQ(software_difference(before, is),
            "/binaries/libdnnl.so.3 was build-id 2, now it is build-id 1");
}

}  // namespace
}  // namespace assay
