// The findings of `assay run` in its result.
#include <gtest/gtest.h>

#include "runner/run/findings.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace test_findings {

using nlohmann::json;

TEST(Findings, APluginThatChangedBetweenLaunchesIsToldAndDecidesTheExit) {
  json made = test::result({test::row("ok", 1, 0), test::row("ok", 1, 1), test::row("ok", 1, 2),
                            test::row("failed", 1, 2, {{"threads", "4"}})});
  const auto environment = [](const char* hash, const char* identity) {
    return json{{"host", "h"},
                {"hardware", json::object()},
                {"software", {{"binaries", {{"libassay_native.so", identity}}}}},
                {"volatile", json::object()},
                {"hashes", {{"hardware", "hw"}, {"software", hash}}}};
  };
  made["environments"] = {environment("a", "content 1"), environment("a", "content 1"),
                          environment("b", "content 2")};
  for (std::size_t i = 0; i < 4; ++i) made["rows"][i]["environment"] = std::min<std::size_t>(i, 2);
  const Findings found = find_mixed(made);
  EXPECT_EQ(found.code, ExitCode::incomparable);
  EXPECT_TRUE(test::has(found.text, "mixed: 1 row ran")) << found.text;
  EXPECT_TRUE(test::has(found.text, "libassay_native.so was content 1, now it is content 2"))
      << found.text;
  made["environments"][2] = made["environments"][0];
  EXPECT_EQ(find_mixed(made).code, ExitCode::ok);
  EXPECT_EQ(find_mixed(made).text, "");
}

TEST(Findings, AHostWithAnotherBuildIsToldAndDecidesTheExit) {
  json made = test::result({test::row("ok", 1, 0), test::row("failed", 1, 1)});
  json& environment = made["environments"][0];
  environment["software"]["binaries"] = {{"libx.so", "build-id 1, build-id 2"}};
  environment["hashes"] = {{"hardware", "hw"}, {"software", "sw"}};
  environment["other_hosts"] = {
      {{"host", "node7"}, {"software", {{"binaries", {{"libx.so", "build-id 2"}}}}}}};
  const Findings found = find_mixed(made);
  EXPECT_EQ(found.code, ExitCode::incomparable);
  EXPECT_TRUE(test::has(found.text, "mixed: 1 row ran")) << found.text;
  EXPECT_TRUE(test::has(found.text, "libx.so: build-id 1, build-id 2, of which node7 has"))
      << found.text;
  environment["other_hosts"][0].erase("software");
  EXPECT_EQ(find_mixed(made).code, ExitCode::ok);
}

}  // namespace test_findings
}  // namespace assay
