// The document and texts of an acceptance: limits, hashes, reasons that are never cut.

#include "accept_data.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace test_accept_text {

using nlohmann::json;
using namespace test;

TEST(FileHash, IsThatOfSha256sum) {
  const fixture::Folder folder;
  // FIPS 180-4, and lengths around the blocks of 64 bytes: `printf %0NNd 0 | sha256sum`.
  const std::pair<std::string, const char*> known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(55, '0'), "9f8ef876f51f5313c91cc3f6b8119af09d8bbdd72098fa149b2780eb3591d6be"},
      {std::string(56, '0'), "bd03ac1428f0ea86f4b83a731ffc7967bb82866d8545322f888d2f6e857ffc18"},
      {std::string(64, '0'), "60e05bd1b195af2f94112fa7197a5c88289058840ce7c6df9693756bc6250f55"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto& [text, hash] : known)
    EXPECT_EQ(file_sha256(folder.put("file", text)), hash) << text.size();
  EXPECT_THROW(file_sha256(folder.path() / "none"), InputError);
  EXPECT_THROW(file_sha256(folder.path()), InputError);
}

TEST(FileHash, AFileThatChangesWhileItIsReadIsRefused) {
  const fixture::Folder folder;
  const std::vector<std::filesystem::path> files{folder.put("a", "1"), folder.put("b", "2")};
  const std::vector<ChangeTime> times = read_change_times(files);
  EXPECT_EQ(hash_files(files, times).at(1).sha256, file_sha256(files[1]));
  std::filesystem::last_write_time(files[1], times[1] + std::chrono::seconds(1));
  EXPECT_THROW(hash_files(files, times), InputError);
}

json limit(const json& document, const std::string& criterion) {
  for (const json& limit : document["limits"])
    if (limit["criterion"] == criterion) return limit;
  return nullptr;
}

TEST(AcceptText, TheDocumentHasTheLimitsThatAPassMet) {
  json criteria = five_percent;
  criteria["absolute"] = {{{"rows", "/2$"}, {"quantity", "time_s"}, {"at_most", 1.0021}}};
  criteria["health"] = {{{"quantity", "/load/0"}, {"when", "before"}, {"at_most", 1}}};
  auto results = healthy(4);
  results[0].result.environments[0].volatile_before = {{"load", {0.5, 0, 0}}};
  const json document = judge(results, criteria);
  EXPECT_EQ(document["criteria"]["content"]["relative"], criteria["relative"]);
  EXPECT_EQ(document["criteria"]["sha256"].get<std::string>().size(), 64U);
  const auto expect = [&](const std::string& criterion, const char* of, int met, int judged,
                          int unknown) {
    EXPECT_EQ(limit(document, criterion), json({{"criterion", criterion},
                                                {"of", of},
                                                {"met", met},
                                                {"judged", judged},
                                                {"unknown", unknown}}))
        << document["limits"];
  };
  expect("present, correct and complete", "row", 8, 8, 0);
  expect("software as on most nodes", "node", 4, 4, 0);
  expect("at most 5 % slower than the other nodes", "row", 8, 8, 0);
  expect("time_s at most 1.0021 (rows /2$)", "row", 3, 4, 0);
  expect("load (last minute) before the run at most 1", "node", 1, 4, 3);
  for (const bool markdown : {false, true}) {
    const std::string text = rendered(document, markdown);
    EXPECT_NE(text.find("present, correct and complete: 8 of 8 rows"), std::string::npos) << text;
    EXPECT_NE(text.find("before the run at most 1: 1 of 1 node, not reported by 3 nodes"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(document["criteria"]["sha256"].get<std::string>()), std::string::npos);
  }
  EXPECT_NE(render_junit_xml(document).find(document["criteria"]["sha256"].get<std::string>()),
            std::string::npos);
}

TEST(AcceptText, ADocumentOfAnOlderVersionIsRead) {
  json document = judge(healthy(4), five_percent);
  for (const char* name : {"results", "limits"}) document.erase(name);
  for (const char* name : {"sha256", "content"}) document["criteria"].erase(name);
  document["summary"].erase("not_comparable");
  EXPECT_EQ(find_schema_errors(document, "acceptance", "document"), std::vector<std::string>{});
  EXPECT_NE(rendered(document, false).find("PASS: 4 nodes"), std::string::npos);
}

TEST(AcceptText, AReasonIsNeverCutAndNoLineIsLong) {
  auto results = healthy(6);
  results[1].result.rows[0] = row("failed", 1, 0, {{"threads", "2"}});
  results[1].result.rows[0].reason =
      "the process ended by signal 11 (Segmentation fault) in a library that was loaded by the "
      "plugin native, after 3 of 5 launches, of which each had taken about a minute";
  const json document = judge(results, five_percent);
  const std::string text = render_acceptance(document, false);
  std::string flat;
  for (const std::string& line : split(text, '\n')) {
    EXPECT_TRUE(count_columns(line) <= 80 || line.find(' ', 4) == std::string::npos) << line;
    const std::size_t first = line.find_first_not_of(' ');
    flat += (first == std::string::npos ? "" : line.substr(first)) + " ";
  }
  EXPECT_EQ(text.find("…"), std::string::npos) << text;
  EXPECT_NE(flat.find("of which each had taken about a minute"), std::string::npos) << flat;
  EXPECT_LT(flat.find(document["reason"].get<std::string>()), flat.find("rows passed"))
      << "the reason stands between the verdict and the table\n"
      << text;
}

TEST(AcceptText, TheSameFindingsOfSeveralNodesAreSaidOnce) {
  auto results = healthy(6);
  const auto pieces = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++count;
    return count;
  };
  for (const std::size_t node : {1, 4}) {
    results[node].result.rows[0] = row("failed", 1, 0, {{"threads", "2"}});
    results[node].result.rows[0].reason = "no licence";
  }
  const std::string some = rendered(judge(results, five_percent), false);
  EXPECT_NE(some.find("\nn01, n04 (MISSING)\n  - conv"), std::string::npos) << some;
  EXPECT_EQ(pieces(some, "no licence"), 2U) << "in the reason and in the list\n" << some;
  for (NamedResult& named : results) {
    named.result.rows[0] = row("failed", 1, 0, {{"threads", "2"}});
    named.result.rows[0].reason = "no licence";
  }
  const std::string all = rendered(judge(results, five_percent), false);
  EXPECT_NE(all.find("\nall 6 nodes (MISSING)\n"), std::string::npos) << all;
  EXPECT_EQ(pieces(all, "no licence"), 2U) << all;
}

TEST(AcceptText, CountsAndPlurals) {
  const json absolute = {{"absolute", {{{"rows", "."}, {"quantity", "time_s"}, {"at_most", 9}}}}};
  const std::string one = rendered(judge(healthy(1), absolute), false);
  EXPECT_TRUE(one.starts_with("PASS: 1 node by test: 1 PASS.\n")) << one;
  auto results = healthy(4);
  results[1].result.rows[0] = row("failed", 1, 0, {{"threads", "2"}});
  results[1].result.rows[1] = row("failed", 1, 0, {{"threads", "4"}});
  EXPECT_TRUE(find_node(judge(results, five_percent), 1)["reason"].get<std::string>().ends_with(
      "(and 1 more finding)"));
  EXPECT_TRUE(rendered(judge(healthy(4), {{"nodes", 1}}), false)
                  .starts_with("MISSING: 4 nodes by test: 4 PASS, 1 criterion of the fleet not "
                               "met.\n1 node: 4 nodes with results, which is more\n"));
}

TEST(AcceptText, ADeviationIsToldFromFiveNodesOn) {
  for (const int nodes : {4, 5}) {
    std::vector<NamedResult> results;
    for (int i = 0; i < nodes; ++i) results.push_back(node(i, {row("ok", 1 + 0.001 * i * i)}));
    const json document = judge(results, five_percent);
    const bool told = rendered(document, false).find("deviation") != std::string::npos;
    EXPECT_EQ(told, nodes == 5);
    EXPECT_EQ(document["stragglers"][0]["deviation"].is_null(), nodes == 4);
    EXPECT_EQ(find_node(document, 0)["rows"][0]["deviation"].is_null(), nodes == 4);
  }
}

TEST(AcceptText, ManyNodesThatPassedAreCounted) {
  const std::string text = rendered(judge(healthy(40), five_percent), false);
  EXPECT_NE(text.find("8 faster nodes that passed are not shown"), std::string::npos) << text;
}

}  // namespace test_accept_text
}  // namespace assay
