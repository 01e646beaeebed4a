// Rows and sides that may be compared, and those that may not: rows that are missing, wrong, of
// other work or another machine.

#include <gtest/gtest.h>

#include <algorithm>

#include "compare_data.hpp"
#include "core/base/error.hpp"

namespace assay::test {
namespace test_comparable {

TEST(Compare, RowsThatAreMissingOrWrongAreToldAndDecideTheExit) {
  const json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  const json only_a = joined({launches("a", 1, 5)});
  const json vanished = compared(base, only_a);
  EXPECT_EQ(vanished["exit_code"], incomparable);
  ASSERT_EQ(vanished["only_base"].size(), 1u);
  EXPECT_EQ(vanished["geometric_mean"]["rows"], 1);
  EXPECT_EQ(vanished["geometric_mean"]["of"], 2);
  const json zero = compared(joined({launches("b", 1, 5)}), only_a);
  EXPECT_EQ(zero["exit_code"], incomparable);
  EXPECT_TRUE(zero["geometric_mean"].is_null());
  for (const auto& [status, code] : {std::pair<const char*, int>{"incorrect", incorrect},
                                     {"failed", failed},
                                     {"timeout", failed},
                                     {"target missed", target_missed},
                                     {"unsupported", incomparable}}) {
    json spoilt = base;
    spoilt["rows"][2] = row(status, 1, 2, {{"problem", "a"}});
    const json document = compared(base, spoilt);
    EXPECT_EQ(document["exit_code"], code) << status;
    EXPECT_EQ(document["rows"].size(), 1u) << status;
    EXPECT_EQ(document["geometric_mean"].is_null(), std::string(status) != "unsupported");
  }
}

TEST(Compare, WhatDiffersAndWasNotMeantToIsNamedAndRefused) {
  const json base = joined({launches("a", 1, 5)});
  struct Change {
    const char* pointer;
    const char* field;
    std::vector<std::string> allowed;
    json value = 7;
  };
  for (const Change& change :
       {Change{"/environments/0/hardware/cores", "hardware/cores", {"hardware"}},
        Change{"/environments/0/software/libraries/onednn/version",
               "software/libraries/onednn/version",
               {"software"}},
        Change{"/environments/0/software/kernel", "software/kernel", {"software", "hardware"}},
        Change{"/environments/0/software/libraries/libc",
               "software/libraries/libc",
               {"software", "hardware"}},
        Change{"/run/suite_hash", "run/suite_hash", {}, "t"}, Change{"/run/seed", "run/seed", {}},
        Change{"/run/max_time", "run/max_time", {}},
        Change{"/run/launcher", "run/launcher", {}, json::array({"mpirun"})},
        Change{"/run/statistics", "run/statistics", {}}}) {
    json updated = base;
    updated[json::json_pointer(change.pointer)] = change.value;
    for (const std::string vary : {"nothing", "software", "hardware"}) {
      const bool allowed =
          std::find(change.allowed.begin(), change.allowed.end(), vary) != change.allowed.end();
      const json document = compared(base, updated, {vary});
      EXPECT_EQ(document["refused"], !allowed) << change.field << vary;
      EXPECT_EQ(document["exit_code"], allowed ? ok : incomparable) << change.field << vary;
      if (allowed) continue;
      ASSERT_EQ(document["mismatches"].size(), 1u) << change.field << vary;
      EXPECT_EQ(document["mismatches"][0]["field"], change.field);
      EXPECT_EQ(document["mismatches"][0]["new"], change.value);
      EXPECT_TRUE(document["rows"].empty()) << "a number beside a refusal would be read";

      const json stamped = compared(base, updated, {vary, true});
      EXPECT_EQ(stamped["rows"].size(), 1u);
      for (const bool markdown : {false, true}) {
        const std::string text = rendered(base, updated, {vary, true}, markdown);
        EXPECT_NE(text.find("MISMATCH ALLOWED"), text.rfind("MISMATCH ALLOWED"));
      }
    }
  }
  // A field that one side alone has.
  json updated = base;
  updated["environments"][0]["software"]["switches"]["OMP_PLACES"] = "cores";
  const json document = compared(base, updated);
  EXPECT_EQ(document["mismatches"][0]["field"], "software/switches");
  EXPECT_EQ(document["mismatches"][0]["base"], "absent");
  // Volatile state never decides.
  updated = base;
  updated["environments"][0]["volatile"]["load"] = 9;
  EXPECT_EQ(compared(base, updated)["refused"], false);
}

TEST(Compare, TwoBuildsOfALibraryWithOneVersionAreNamedAndRefused) {
  json base = joined({launches("a", 1, 5)}), updated = base;
  const auto binaries = [](json& side, const char* identity) {
    side["environments"][0]["software"]["binaries"] = {{"libc.so.6", "build-id c0ffee"},
                                                       {"libdnnl.so.3", identity}};
  };
  binaries(base, "build-id 1a");
  EXPECT_EQ(compared(base, updated)["refused"], false) << "an older version does not tell them";
  EXPECT_EQ(compared(updated, base)["refused"], false);
  binaries(updated, "build-id 2b");
  const json document = compared(base, updated);
  EXPECT_EQ(document["refused"], true);
  ASSERT_EQ(document["mismatches"].size(), 1u);
  EXPECT_EQ(document["mismatches"][0]["field"], "software/binaries/libdnnl.so.3");
  EXPECT_EQ(document["exit_code"], incomparable);
  for (const char* vary : {"software", "hardware"})
    EXPECT_EQ(compared(base, updated, {vary})["refused"], false) << vary;
  binaries(updated, "build-id 1a");
  EXPECT_EQ(compared(base, updated)["refused"], false);
}

TEST(Compare, SettingsAreThoseOfTheFirstRunThatTellsThem) {
  const json run = joined({launches("a", 1, 5)});
  const json peer = joined({launches("a", 0.5, 5, 0.001, {{"backend", "peer"}})});
  const auto against_peer = [&](double first, double second) {
    std::vector<NamedResult> runs{{"one", run}, {"two", run}};
    runs[0].result.run.timing.max_time = first;
    runs[1].result.run.timing.max_time = second;
    // The peer, which comes first, tells of no such setting.
    return compared(side(peer, "backend"), Side("runs", runs, "backend"), {"backend"});
  };
  EXPECT_EQ(against_peer(1, 1)["refused"], false);
  const json document = against_peer(1, 2);
  EXPECT_EQ(document["refused"], true);
  EXPECT_TRUE(document["rows"].empty());
  ASSERT_EQ(document["mismatches"].size(), 1u) << document["mismatches"];
  EXPECT_EQ(document["mismatches"][0]["field"], "run/max_time");
  EXPECT_EQ(document["mismatches"][0]["base"], 1);
  EXPECT_EQ(document["mismatches"][0]["new"], 2);
}

TEST(Compare, FreshLaunchesMustBeOfTheirSide) {
  const Side base = side(joined({launches("a", 1, 5)})),
             updated = side(joined({launches("a", 1.1, 5)}));
  const Side fresh_base = side(joined({launches("a", 1, 12)}));
  json other = joined({launches("a", 1.1, 12)});
  other["environments"][0]["software"]["libraries"]["onednn"]["version"] = "3.8";
  const Side fresh_new = side(other);
  const json document = compared(base, updated, {"software"}, &fresh_base, &fresh_new);
  EXPECT_EQ(document["exit_code"], incomparable);
  EXPECT_EQ(document["mismatches"][0]["field"], "fresh-new/software/libraries/onednn/version");
}

TEST(Compare, PrecisionsPairByWhatElseIsTheSame) {
  const json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  const json half =
      joined({launches("a", 0.5, 5, 0.001, {{"precision", "bf16"}}), launches("b", 1, 5)});
  const json document = compared(base, half, {"precision"});
  ASSERT_EQ(document["rows"].size(), 1u);
  EXPECT_NEAR(document["rows"][0]["ratio"], 0.5, 1e-9);
  EXPECT_NE(document["rows"][0]["id"].get<std::string>().find("/*/"), std::string::npos);
  ASSERT_EQ(document["not_compared"].size(), 1u);
  EXPECT_NE(document["not_compared"][0]["reason"].get<std::string>().find("same precision"),
            std::string::npos);
  // Two precisions on one side are no one row.
  const json both =
      joined({launches("a", 1, 5), launches("a", 0.5, 5, 0.001, {{"precision", "bf16"}})});
  EXPECT_TRUE(compared(both, half, {"precision"})["rows"].empty());
}

TEST(Compare, BackendsPairByWhatElseIsTheSame) {
  const json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  json peer = joined({launches("a", 0.5, 5, 0.001, {{"backend", "peer"}, {"algorithm", "its"}}),
                      launches("b", 1, 5)});
  // As another program tells of itself: nothing of a suite, and software of which no hash is known.
  peer["run"]["suite"] = peer["run"]["suite_hash"] = nullptr;
  json& software = peer["environments"][0]["software"];
  software = {
      {"kernel", "k"}, {"python", "3.11"}, {"libraries", {{"peer", "1"}, {"libc", "2.36"}}}};
  peer["environments"][0]["hashes"]["software"] = nullptr;
  const json document = compared(base, peer, {"backend"});
  EXPECT_EQ(document["refused"], false) << document["mismatches"];
  ASSERT_EQ(document["rows"].size(), 1u);
  EXPECT_NEAR(document["rows"][0]["ratio"], 0.5, 1e-9);
  EXPECT_EQ(document["rows"][0]["id"], "conv/*/*/hot/forward/fp32/a/2");
  ASSERT_EQ(document["not_compared"].size(), 1u);
  const auto reason = [](const json& told) {
    return told["not_compared"][0]["reason"].get<std::string>();
  };
  EXPECT_NE(reason(document).find("same backend and algorithm"), std::string::npos);
  // Settings that both sides tell must be equal.
  for (const auto& [name, field] :
       {std::pair{"/kernel", "software/kernel"}, {"/libraries/libc", "software/libraries/libc"}}) {
    json other = peer;
    other["environments"][0]["software"][json::json_pointer(name)] = "x";
    const json refused = compared(base, other, {"backend"});
    ASSERT_EQ(refused["mismatches"].size(), 1u);
    EXPECT_EQ(refused["mismatches"][0]["field"], field);
  }
  json elsewhere = peer;
  elsewhere["environments"][0]["hardware"].erase("cores");
  EXPECT_EQ(compared(base, elsewhere, {"backend"})["refused"], true);
  // A choice between the two would be arbitrary. Both are asked for.
  const json both =
      joined({launches("a", 1, 5), launches("a", 0.9, 5, 0.001, {{"algorithm", "winograd"}})});
  const json several = compared(both, peer, {"backend"});
  EXPECT_TRUE(several["rows"].empty());
  EXPECT_NE(reason(several).find("base has 2 rows that differ in backend or algorithm alone"),
            std::string::npos)
      << several["not_compared"];
}

TEST(Compare, WhatVariesMayBeWithItsNameInTheId) {
  json base = joined({launches("a", 1, 5)}), named = base;
  for (json& row : named["rows"]) {
    row["parameters"]["precision"] = "bf16";
    row["id"] = row["id"].get<std::string>() + "/precision=bf16";
  }
  for (json* side : {&base, &named})
    for (json& row : (*side)["rows"]) {
      std::string id = row["id"];
      row["id"] = id.replace(id.find("/fp32"), 5, "");  // as where fp32 is the usual value
    }
  EXPECT_EQ(compared(base, named, {"precision"})["rows"].size(), 1u);
}

TEST(Compare, PublishedRowsGiveARatioAndNoVerdict) {
  json base = joined({launches("a", 1, 1)});
  base["rows"][0]["published"] = true;
  base["rows"][0]["citation"] = "Somebody";
  base["environments"][0]["hashes"] = {{"hardware", nullptr}, {"software", nullptr}};
  const json document = compared(base, joined({launches("a", 0.5, 5)}), {"hardware"});
  ASSERT_EQ(document["rows"].size(), 1u);
  const json& row = document["rows"][0];
  EXPECT_DOUBLE_EQ(row["ratio"], 0.5);
  EXPECT_TRUE(row["interval"].is_null() && row["p"].is_null() && row["verdict"].is_null());
  EXPECT_EQ(row["reason"], "published number, no launches");
  EXPECT_EQ(document["exit_code"], inconclusive);
  EXPECT_TRUE(document["geometric_mean"].is_null());
}

TEST(Compare, WhatWasCountedOtherwiseHasNoRatio) {
  const json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  json other = base;
  for (json& row : other["rows"])
    if (row["id"].get<std::string>().find("/a") != std::string::npos) row["problem"]["flops"] = 2e9;
  const json document = compared(base, other);
  ASSERT_EQ(document["not_compared"].size(), 1u);
  EXPECT_NE(document["not_compared"][0]["reason"].get<std::string>().find("flops"),
            std::string::npos);
  EXPECT_EQ(document["exit_code"], incomparable);
}

/// As eight steps of one way to be parallel, and one of another.
TEST(Compare, RunsOfMoreWorkAreComparedByTheSameWork) {
  json base = joined({launches("a", 1, 5)}), more = joined({launches("a", 4, 5)});
  for (json& row : more["rows"]) {
    std::string id = row["id"];
    row["id"] = id.replace(id.find("fp32"), 4, "bf16");
    row["parameters"]["precision"] = "bf16";
    row["problem"]["flops"] = 8e9;
    row["problem"]["amounts"] = {{"flops_per_s", 8e9}, {"images_per_s", 256}};
  }
  for (json& row : base["rows"])
    row["problem"]["amounts"] = {{"flops_per_s", 1e9}, {"images_per_s", 32}};
  const json document = compared(base, more, {"precision"});
  ASSERT_EQ(document["rows"].size(), 1u) << document["not_compared"];
  const json& row = document["rows"][0];
  EXPECT_NEAR(row["ratio"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(row["new"]["median"].get<double>(), 0.5, 1e-9);
  EXPECT_NE(row["notes"].dump().find("has 8 times the work"), std::string::npos) << row["notes"];
  // Other work, not more of the same.
  for (json& other : more["rows"]) other["problem"]["amounts"]["images_per_s"] = 255;
  const json refused = compared(base, more, {"precision"});
  EXPECT_TRUE(refused["rows"].empty());
  EXPECT_EQ(refused["exit_code"], incomparable);
}

TEST(Compare, LaunchesOfTwoEnvironmentsAreNoOneNumber) {
  json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  json mixed = base;
  mixed["environments"].push_back(mixed["environments"][0]);
  mixed["environments"][1]["hashes"]["software"] = "c";
  mixed["rows"][1]["environment"] = 1;
  const json document = compared(base, mixed);
  EXPECT_EQ(document["rows"].size(), 1u);
  EXPECT_EQ(document["exit_code"], incomparable);
  // An error in either of them is the row's.
  for (const auto& [status, code] : {std::pair<const char*, int>{"incorrect", incorrect},
                                     {"timeout", failed},
                                     {"target missed", target_missed}}) {
    json spoilt = mixed;
    spoilt["rows"][1] = row(status, 1, 1, {{"problem", "a"}});
    spoilt["rows"][1]["environment"] = 1;
    EXPECT_EQ(compared(base, spoilt)["exit_code"], code) << status;
  }
}

TEST(Compare, SeveralFilesOfASideAreMoreLaunches) {
  json first = joined({launches("a", 1, 5)}), second = joined({launches("a", 1, 5)});
  const Side both("both", {{"x", first}, {"y", second}}, "nothing");
  const json document = compared(both, side(joined({launches("a", 1, 5)})));
  EXPECT_EQ(document["rows"][0]["base"]["launches"], 10);
  EXPECT_EQ(document["base"]["files"], json({"x", "y"}));
}

}  // namespace test_comparable
}  // namespace assay::test
