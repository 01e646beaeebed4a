// Theoretical peaks: of documented processors alone, and never of a guessed clock.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/machine/environment.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay::environment {
namespace test_environment_peaks {

using nlohmann::json;

json machine(const std::string& vendor, int family, int model, const std::string& name = "x") {
  return {{"processor", name},
          {"processor_ids",
           {{"vendor_id", vendor},
            {"cpu family", std::to_string(family)},
            {"model", std::to_string(model)}}},
          {"cores", 10},
          {"max_clock_hz", 3e9},
          {"virtual_machine", false}};
}

json arm(const std::string& implementer, const std::string& part) {
  json object = machine("", 0, 0);
  object["processor_ids"] = {{"CPU implementer", implementer}, {"CPU part", part}};
  object["virtual_machine"] = nullptr;
  return object;
}

double fp64(const json& hardware) {
  const json value = compute_theoretical_peaks(hardware)["flops_per_s"]["fp64"];
  return value.is_number() ? value.get<double>() / 3e10 : 0;  // operations of a core in a cycle
}

TEST(Peaks, OfDocumentedProcessors) {
  EXPECT_EQ(fp64(machine("GenuineIntel", 6, 79)), 16);    // 2 x 4 multiply-adds
  EXPECT_EQ(fp64(machine("GenuineIntel", 6, 106)), 32);   // 2 x 8
  EXPECT_EQ(fp64(machine("AuthenticAMD", 23, 0x01)), 8);  // 2 x 2
  EXPECT_EQ(fp64(machine("AuthenticAMD", 23, 0x31)), 16);
  EXPECT_EQ(fp64(machine("AuthenticAMD", 25, 0x11)), 16);
  EXPECT_EQ(fp64(machine("AuthenticAMD", 26, 0x02)), 32);
  EXPECT_EQ(fp64(arm("0x41", "0xd4f")), 16);
  EXPECT_EQ(fp64(arm("0x46", "0x001")), 32);
}

TEST(Peaks, OfEachPrecision) {
  const json tiles = compute_theoretical_peaks(machine("GenuineIntel", 6, 143));
  EXPECT_DOUBLE_EQ(tiles["flops_per_s"]["fp64"], 32 * 3e10);
  EXPECT_DOUBLE_EQ(tiles["flops_per_s"]["fp32"], 64 * 3e10);
  EXPECT_DOUBLE_EQ(tiles["flops_per_s"]["bf16"], 1024 * 3e10);
  EXPECT_DOUBLE_EQ(tiles["flops_per_s"]["int8"], 2048 * 3e10);
  EXPECT_EQ(tiles["basis"], "10 cores x 2 units of 512 bits x 3 GHz, the highest clock");
  EXPECT_FALSE(tiles["reasons"].contains("flops_per_s"));
  const json plain = compute_theoretical_peaks(machine("GenuineIntel", 6, 79));
  for (const char* precision : {"bf16", "int8"}) {
    EXPECT_TRUE(plain["flops_per_s"][precision].is_null());
    EXPECT_FALSE(plain["reasons"][precision].get<std::string>().empty());
  }
}

TEST(Peaks, SkylakeServersByProduct) {
  EXPECT_EQ(fp64(machine("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Gold 6140 CPU")), 32);
  EXPECT_EQ(fp64(machine("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Platinum 8180 CPU")), 32);
  EXPECT_EQ(fp64(machine("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Silver 4110 CPU")), 0);
}

TEST(Peaks, UnknownIsNullWithTheReason) {
  const auto reason = [](const json& hardware) {
    const json peaks = compute_theoretical_peaks(hardware);
    for (const auto& [precision, value] : peaks["flops_per_s"].items())
      EXPECT_TRUE(value.is_null()) << precision;
    EXPECT_TRUE(peaks["bytes_per_s"].is_null());
    EXPECT_TRUE(peaks["basis"].is_null());
    EXPECT_FALSE(peaks["reasons"]["bytes_per_s"].get<std::string>().empty());
    return peaks["reasons"]["flops_per_s"].get<std::string>();
  };
  json object = machine("GenuineIntel", 6, 143);
  object["virtual_machine"] = true;
  EXPECT_NE(reason(object).find("virtual machine"), std::string::npos);
  object = machine("GenuineIntel", 6, 143);
  object["max_clock_hz"] = nullptr;
  EXPECT_NE(reason(object).find("clock"), std::string::npos);
  object = machine("GenuineIntel", 6, 143);
  object["cores"] = nullptr;
  EXPECT_NE(reason(object).find("cores"), std::string::npos);
  EXPECT_NE(reason(machine("GenuineIntel", 6, 167)).find("model 167"), std::string::npos);
  object = machine("GenuineIntel", 6, 143);
  object["processor_ids"]["model"] = "143 (?)";  // no number, and no model that is known
  EXPECT_NE(reason(object).find("model 143 (?)"), std::string::npos);
  EXPECT_NE(reason(machine("GenuineIntel", 6, 85, "Xeon Silver")).find("one or two"),
            std::string::npos);
  EXPECT_NE(reason(arm("0x48", "0xd01")).find("0xd01"), std::string::npos);
  object["processor_ids"] = nullptr;
  EXPECT_NE(reason(object).find("model"), std::string::npos);
}

TEST(Peaks, MakeNoOtherMachine) {
  json environment = capture_environment();
  ASSERT_TRUE(environment["hardware"]["peaks"].is_object());
  const json hash = environment["hashes"]["hardware"];
  environment["hardware"]["peaks"]["flops_per_s"]["fp64"] = 17;
  add_software(environment, "none", nullptr);
  EXPECT_EQ(environment["hashes"]["hardware"], hash);
}

}  // namespace test_environment_peaks
}  // namespace assay::environment
