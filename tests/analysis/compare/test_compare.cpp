// The comparison as a document, from rows made in memory.

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/compare/comparison.hpp"
#include "core/schema.hpp"
#include "rows.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr int ok = 0, incorrect = 3, slower = 4, inconclusive = 5, incomparable = 6, failed = 7;

/// Launches of one row, a little apart: 1, 1 ± spread, 1 ± 2 spread …
std::vector<json> launches(const std::string& problem, double seconds, int count,
                           double spread = 0.001, const Settings& more = {}) {
  std::vector<json> rows;
  for (int i = 0; i < count; ++i) {
    Settings settings = more;
    settings["problem"] = problem;
    const double place = (i % 2 == 0 ? 1 : -1) * ((i + 1) / 2);
    rows.push_back(test::row("ok", seconds * (1 + spread * place), i, settings));
  }
  return rows;
}

json joined(std::vector<std::vector<json>> parts) {
  std::vector<json> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  json made = test::result(all);
  made["run"]["suite_hash"] = "s";
  made["run"]["finished"] = made["run"]["started"];
  made["environments"] = {
      {{"host", "h"},
       {"hardware", {{"processor", "p"}, {"cores", 8}}},
       {"software",
        {{"kernel", "k"}, {"libraries", {{"onednn", {{"version", "3.7"}}}, {"libc", "2.36"}}}}},
       {"volatile", json::object()},
       {"hashes", {{"hardware", "a"}, {"software", "b"}}}}};
  return made;
}

int next_run = 0;

Side side(json result, bool any_precision = false) {
  result["run"]["id"] = "run-" + std::to_string(next_run++);
  return Side("side", {{"", std::move(result)}}, any_precision);
}

struct Asked {
  std::string vary = "nothing";
  bool allow_mismatch = false;
  std::optional<double> tolerance{};
};

json compared(const Side& base, const Side& updated, const Asked& asked = {},
              const Side* fresh_base = nullptr, const Side* fresh_new = nullptr) {
  CompareOptions options;
  options.command = "assay compare";
  options.vary = asked.vary;
  options.allow_mismatch = asked.allow_mismatch;
  options.tolerance = asked.tolerance;
  const json document = comparison_document(base, updated, fresh_base, fresh_new, options);
  EXPECT_EQ(schema_errors(document, "comparison", "it"), std::vector<std::string>{});
  for (const bool markdown : {false, true})
    EXPECT_EQ(render_comparison(document, markdown).find('\x1b'), std::string::npos);
  return document;
}

json compared(const json& base, const json& updated, const Asked& asked = {}) {
  const bool any = asked.vary == "precision";
  return compared(side(base, any), side(updated, any), asked);
}

const json* row_of(const json& document, const std::string& part) {
  for (const json& row : document["rows"])
    if (row["id"].get<std::string>().find(part) != std::string::npos) return &row;
  return nullptr;
}

TEST(Compare, TheSameIsTheSameOnlyWithinTheTolerance) {
  const json base = joined({launches("a", 1, 5), launches("b", 1, 5, 0.01)});
  const json document = compared(base, base);
  EXPECT_EQ((*row_of(document, "/a"))["verdict"], "same");
  // Nothing differs, and yet launches that vary by 1 % cannot show that within 2 %.
  const json& wide = *row_of(document, "/b");
  EXPECT_EQ(wide["verdict"], "inconclusive");
  EXPECT_NEAR(wide["p"], 1, 1e-9);
  EXPECT_NE(wide["reason"].get<std::string>().find("wider than the tolerance"), std::string::npos);
  EXPECT_EQ(document["exit_code"], inconclusive);
  EXPECT_EQ(compared(base, base, {"nothing", false, 0.1})["exit_code"], ok);
}

TEST(Compare, FewLaunchesDecideNothing) {
  for (const int count : {1, 3}) {
    const json base = joined({launches("a", 1, count)});
    const json updated = joined({launches("a", 1.3, count)});
    for (const json* other : {&base, &updated}) {
      const json document = compared(base, *other);
      const json& row = document["rows"][0];
      EXPECT_EQ(row["verdict"], "inconclusive") << count;
      EXPECT_TRUE(row["interval"].is_null()) << count;
      EXPECT_FALSE(row["reason"].is_null());
      EXPECT_EQ(document["exit_code"], inconclusive);
    }
  }
  const json document = compared(joined({launches("a", 1, 1)}), joined({launches("a", 1.3, 1)}));
  EXPECT_TRUE(document["rows"][0]["base"]["variation"].is_null());
  EXPECT_TRUE(document["rows"][0]["minimum_detectable"].is_null());
}

TEST(Compare, VerdictsRestOnFreshLaunchesAlone) {
  const Side base = side(joined({launches("a", 1, 5), launches("b", 1, 5), launches("c", 1, 5)}));
  const Side updated =
      side(joined({launches("a", 1.1, 5), launches("b", 1.1, 5), launches("c", 1, 5)}));
  const json screen = compared(base, updated);
  EXPECT_EQ(screen["stage"], "screen");
  EXPECT_EQ(screen["settings"]["flagged"], 2);
  EXPECT_EQ(screen["summary"]["needs_confirmation"], 2);
  EXPECT_EQ(screen["summary"]["slower"], 0) << "a screen gives no verdict";
  EXPECT_EQ(screen["exit_code"], inconclusive);
  const std::vector<std::string> ids = flagged_ids(screen, updated);
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(json(ids[0]), (*row_of(screen, "/a"))["id"]);

  // a is slower again; b was chance. The fresh launches lack c, which needs none.
  const Side fresh_base = side(joined({launches("a", 1, 12), launches("b", 1, 12)}));
  const Side fresh_new = side(joined({launches("a", 1.1, 12), launches("b", 1, 12)}));
  const json document = compared(base, updated, {}, &fresh_base, &fresh_new);
  EXPECT_EQ(document["stage"], "confirmed");
  EXPECT_DOUBLE_EQ(document["settings"]["confirmed_p"], 0.005);
  const json &a = *row_of(document, "/a"), &b = *row_of(document, "/b"),
             &c = *row_of(document, "/c");
  EXPECT_EQ(a["verdict"], "slower");
  EXPECT_EQ(a["detected"], true);
  EXPECT_EQ(a["base"]["launches"], 12);
  EXPECT_NEAR(a["ratio"], 1.1, 1e-9);
  EXPECT_EQ(b["verdict"], "same");
  EXPECT_EQ(b["detected"], false);
  EXPECT_NEAR(b["screen"]["ratio"], 1.1, 1e-9);
  EXPECT_EQ(c["verdict"], "same");
  EXPECT_EQ(c["stage"], "screen");
  EXPECT_EQ(document["exit_code"], slower);
  EXPECT_TRUE(flagged_ids(document, updated).empty());

  // 5 + 5 fresh launches cannot reach 0.005.
  const Side few_base = side(joined({launches("a", 1, 5), launches("b", 1, 5)}));
  const Side few_new = side(joined({launches("a", 1.1, 5), launches("b", 1, 5)}));
  const json few = compared(base, updated, {}, &few_base, &few_new);
  EXPECT_EQ((*row_of(few, "/a"))["verdict"], "inconclusive");
  EXPECT_NE((*row_of(few, "/a"))["reason"].get<std::string>().find("cannot reach p"),
            std::string::npos);

  // The screen's own launches are not fresh.
  EXPECT_THROW(compared(base, updated, {}, &base, &updated), InputError);
  // A fresh launch that is wrong makes the row wrong.
  json wrong = joined({launches("a", 1.1, 12), launches("b", 1, 12)});
  wrong["rows"][3] = test::row("incorrect", 1, 3, {{"problem", "a"}});
  const Side fresh_wrong = side(wrong);
  const json bad = compared(base, updated, {}, &fresh_base, &fresh_wrong);
  EXPECT_EQ(bad["exit_code"], incorrect);
  EXPECT_EQ(row_of(bad, "/a"), nullptr);
  EXPECT_TRUE(bad["geometric_mean"].is_null());
}

TEST(Compare, AnImprovementNeverFails) {
  const Side base = side(joined({launches("a", 1, 5)})),
             updated = side(joined({launches("a", 0.8, 5)}));
  const Side fresh_base = side(joined({launches("a", 1, 12)}));
  const Side fresh_new = side(joined({launches("a", 0.8, 12)}));
  const json document = compared(base, updated, {}, &fresh_base, &fresh_new);
  EXPECT_EQ(document["rows"][0]["verdict"], "faster");
  EXPECT_EQ(document["exit_code"], ok);
  EXPECT_NEAR(document["geometric_mean"]["speedup"], 1.25, 1e-9);
  // Nor does a row that was wrong and is not any more, or one that is new.
  json broken = joined({launches("a", 1, 5), launches("b", 1, 5)});
  broken["rows"][7] = test::row("incorrect", 1, 2, {{"problem", "b"}});
  const json mended =
      compared(broken, joined({launches("a", 1, 5), launches("b", 1, 5), launches("c", 1, 5)}));
  EXPECT_EQ(mended["exit_code"], ok);
  EXPECT_EQ(mended["only_new"].size(), 1u);
  EXPECT_EQ(mended["not_compared"].size(), 1u);
  EXPECT_TRUE(mended["geometric_mean"].is_null()) << "withheld all the same";
}

TEST(Compare, DetectedAndToleratedAreTwoThings) {
  const Side base = side(joined({launches("a", 1, 5)})),
             updated = side(joined({launches("a", 1.03, 5)}));
  const Side fresh_base = side(joined({launches("a", 1, 12)}));
  const Side fresh_new = side(joined({launches("a", 1.015, 12)}));
  const json document = compared(base, updated, {}, &fresh_base, &fresh_new);
  EXPECT_EQ(document["rows"][0]["detected"], true);
  EXPECT_EQ(document["rows"][0]["verdict"], "same");
  EXPECT_EQ(document["exit_code"], ok);
}

TEST(Compare, TheToleranceIsTheRowsOrTheRunsOrTheOneGiven) {
  json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  base["run"]["tolerance"] = 0.2;
  for (int i = 0; i < 5; ++i) base["rows"][static_cast<std::size_t>(i)]["tolerance"] = 0.05;
  const json updated = joined({launches("a", 1.1, 5), launches("b", 1.1, 5)});
  const json document = compared(base, updated);
  EXPECT_EQ((*row_of(document, "/a"))["tolerance"], 0.05);
  EXPECT_EQ((*row_of(document, "/a"))["flagged"], true);
  EXPECT_EQ((*row_of(document, "/b"))["tolerance"], 0.2);
  EXPECT_EQ((*row_of(document, "/b"))["verdict"], "same");
  Asked asked;
  asked.tolerance = 0.03;
  EXPECT_EQ((*row_of(compared(base, updated, asked), "/b"))["tolerance"], 0.03);
}

TEST(Compare, FreshIsWhatWasLaunchedAfterTheScreenAndTwice) {
  const auto says = [](const std::function<void()>& body) -> std::string {
    try {
      body();
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const json old = joined({launches("a", 1, 5)}), slow = joined({launches("a", 1.1, 5)});
  const Side base = side(old), updated = side(slow);
  EXPECT_NE(says([&] { compared(base, base); }).find("a run equals itself"), std::string::npos);
  const Side fresh = side(joined({launches("a", 1, 12)}));
  EXPECT_NE(says([&] { compared(base, updated, {}, &fresh, &fresh); }).find("equals itself"),
            std::string::npos);
  json before = joined({launches("a", 1.1, 12)});
  before["run"]["started"] = "2001-01-01T00:00:00.000Z";
  const Side early = side(before);
  EXPECT_NE(says([&] { compared(base, updated, {}, &fresh, &early); }).find("not fresh"),
            std::string::npos);
  const Side faster = side(joined({launches("a", 0.9, 12)}));
  const json document = compared(base, updated, {}, &fresh, &faster);
  EXPECT_EQ(document["rows"][0]["verdict"], "faster");
  EXPECT_NE(document["rows"][0]["notes"].dump().find("the other way"), std::string::npos);
}

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
                                     {"unsupported", incomparable}}) {
    json spoilt = base;
    spoilt["rows"][2] = test::row(status, 1, 2, {{"problem", "a"}});
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
        Change{"/run/suite_hash", "run/suite_hash", {}}, Change{"/run/seed", "run/seed", {}},
        Change{"/run/max_time", "run/max_time", {}}, Change{"/run/launcher", "run/launcher", {}}}) {
    json updated = base;
    updated[json::json_pointer(change.pointer)] = 7;
    for (const std::string vary : {"nothing", "software", "hardware"}) {
      const bool allowed =
          std::find(change.allowed.begin(), change.allowed.end(), vary) != change.allowed.end();
      const json document = compared(base, updated, {vary});
      EXPECT_EQ(document["refused"], !allowed) << change.field << vary;
      EXPECT_EQ(document["exit_code"], allowed ? ok : incomparable) << change.field << vary;
      if (allowed) continue;
      ASSERT_EQ(document["mismatches"].size(), 1u) << change.field << vary;
      EXPECT_EQ(document["mismatches"][0]["field"], change.field);
      EXPECT_EQ(document["mismatches"][0]["new"], 7);
      EXPECT_TRUE(document["rows"].empty()) << "a number beside a refusal would be read";

      const json stamped = compared(base, updated, {vary, true});
      EXPECT_EQ(stamped["rows"].size(), 1u);
      for (const bool markdown : {false, true}) {
        const std::string text = render_comparison(stamped, markdown);
        EXPECT_NE(text.find("MISMATCH ALLOWED"), text.rfind("MISMATCH ALLOWED"));
      }
    }
  }
  // What is there on one side only.
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
  EXPECT_EQ(row["reason"], "published: no launches");
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

TEST(Compare, LaunchesOfTwoEnvironmentsAreNoOneNumber) {
  json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  json mixed = base;
  mixed["environments"].push_back(mixed["environments"][0]);
  mixed["environments"][1]["hashes"]["software"] = "c";
  mixed["rows"][1]["environment"] = 1;
  const json document = compared(base, mixed);
  EXPECT_EQ(document["rows"].size(), 1u);
  EXPECT_EQ(document["exit_code"], incomparable);
}

TEST(Compare, SeveralFilesOfASideAreMoreLaunches) {
  json first = joined({launches("a", 1, 5)}), second = joined({launches("a", 1, 5)});
  const Side both("both", {{"x", first}, {"y", second}}, false);
  const json document = compared(both, side(joined({launches("a", 1, 5)})));
  EXPECT_EQ(document["rows"][0]["base"]["launches"], 10);
  EXPECT_EQ(document["base"]["files"], json({"x", "y"}));
}

TEST(Compare, GeometricMeanIsByLaunch) {
  // Every launch disturbs all rows together: no number of rows makes up for five launches.
  std::vector<std::vector<json>> parts;
  for (int i = 0; i < 30; ++i) parts.push_back(launches("p" + std::to_string(i), 1, 5, 0.02));
  const json document = compared(joined(parts), joined(parts));
  const json& mean = document["geometric_mean"];
  EXPECT_NEAR(mean["speedup"], 1, 1e-12);
  EXPECT_LT(mean["interval"][0], 0.98);
  EXPECT_GT(mean["interval"][1], 1.02);
  // A row that lacks a launch leaves no interval.
  parts[3].pop_back();
  const json uneven = compared(joined(parts), joined(parts));
  EXPECT_TRUE(uneven["geometric_mean"]["interval"].is_null());
  EXPECT_FALSE(uneven["geometric_mean"]["interval_reason"].is_null());
}

TEST(Compare, SidesThatDidNotAlternateAreToldSo) {
  json base = joined({launches("a", 1, 5)}), updated = joined({launches("a", 1, 5)});
  base["run"]["started"] = "2026-01-01T00:00:00.000Z";
  base["run"]["finished"] = "2026-01-01T01:00:00.000Z";
  updated["run"]["started"] = "2026-01-01T02:00:00.000Z";
  updated["run"]["finished"] = "2026-01-01T03:00:00.000Z";
  EXPECT_EQ(compared(base, updated)["notes"].size(), 1u);
  updated["run"]["started"] = "2026-01-01T00:30:00.000Z";
  EXPECT_EQ(compared(base, updated)["notes"].size(), 0u);
}

TEST(Compare, UntrustedTextReachesNoTerminal) {
  json base = joined({launches("a", 1, 5)});
  base["system"]["name"] = "\x1b[31mred\n\xc2\x9b<b>";
  json updated = base;
  updated["environments"][0]["hardware"]["processor"] = "\x1b]0;title\x07";
  const json document = compared(base, updated);
  for (const bool markdown : {false, true}) {
    const std::string text = render_comparison(document, markdown);
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    if (markdown) {
      EXPECT_EQ(text.find(" <b>"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace assay
