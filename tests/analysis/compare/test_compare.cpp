// The conclusions of a comparison from launches: verdicts, exit codes, the geometric mean.

#include <gtest/gtest.h>

#include "compare_data.hpp"
#include "core/base/error.hpp"

namespace assay::test {
namespace test_compare {

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

TEST(Compare, ASideTellsWhetherItWasDisturbed) {
  std::vector<json> disturbed = launches("a", 1, 5);
  disturbed[2]["time_s"]["stolen"] = 0.5;
  const json document = compared(joined({launches("a", 1, 5)}), joined({disturbed}));
  const json& row = document["rows"][0];
  EXPECT_EQ(row["base"]["shared"], false);
  EXPECT_EQ(row["new"]["shared"], true);
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
  const std::vector<std::string> ids = list_flagged_ids(screen, updated);
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
  EXPECT_NEAR(a["ratio"], 1.1, 1e-9) << "kept within version 1";
  EXPECT_NEAR(a["speedup"], 1 / 1.1, 1e-9);
  EXPECT_NEAR(a["speedup_interval"][0], 1 / a["interval"][1].get<double>(), 1e-12);
  EXPECT_NEAR(a["speedup_interval"][1], 1 / a["interval"][0].get<double>(), 1e-12);
  const std::string text = render_comparison(document, base, updated, false);
  EXPECT_NE(text.find("new over base"), std::string::npos) << text;
  EXPECT_NE(text.find("0.9091"), std::string::npos) << text;
  EXPECT_EQ(text.find("1.1000"), std::string::npos) << text;
  EXPECT_EQ(b["verdict"], "same");
  EXPECT_EQ(b["detected"], false);
  EXPECT_NEAR(b["screen"]["ratio"], 1.1, 1e-9);
  EXPECT_EQ(c["verdict"], "same");
  EXPECT_EQ(c["stage"], "screen");
  EXPECT_EQ(document["exit_code"], slower);
  EXPECT_TRUE(list_flagged_ids(document, updated).empty());

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
  wrong["rows"][3] = row("incorrect", 1, 3, {{"problem", "a"}});
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
  // A row that was wrong and is not any more does not count either, nor one that is new.
  json broken = joined({launches("a", 1, 5), launches("b", 1, 5)});
  broken["rows"][7] = row("incorrect", 1, 2, {{"problem", "b"}});
  const json mended =
      compared(broken, joined({launches("a", 1, 5), launches("b", 1, 5), launches("c", 1, 5)}));
  EXPECT_EQ(mended["exit_code"], ok);
  EXPECT_EQ(mended["only_new"].size(), 1u);
  EXPECT_EQ(mended["not_compared"].size(), 1u);
  EXPECT_TRUE(mended["geometric_mean"].is_null()) << "withheld all the same";
}

TEST(Compare, ANumberThatDisappearsIsLost) {
  json base = joined({launches("a", 1, 5), launches("b", 1, 5), launches("c", 1, 5)});
  json updated = joined({launches("a", 1, 5), launches("b", 1, 5)});
  for (std::size_t i = 5; i < 10; ++i)
    updated["rows"][i] = row("unsupported", 1, static_cast<int>(i) - 5, {{"problem", "b"}});
  const json document = compared(base, updated);
  EXPECT_EQ(document["exit_code"], incomparable);
  ASSERT_EQ(document["lost"].size(), 2u);
  EXPECT_EQ(document["lost"][0]["reason"], "why it is unsupported");
  EXPECT_EQ(document["lost"][1]["reason"], "the row is missing");
  EXPECT_NE(rendered(base, updated).find("2 lost"), std::string::npos);
  // A failure is told as that, and a row that base never had is not lost.
  EXPECT_TRUE(compared(updated, base)["lost"].empty());
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

TEST(Compare, TheToleranceIsTheOptionsOrTheRowsOrTheUsualOne) {
  json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  base["run"]["tolerance"] = 0.2;  // no suite writes it there: it means nothing
  for (int i = 0; i < 5; ++i) base["rows"][static_cast<std::size_t>(i)]["tolerance"] = 0.05;
  const json updated = joined({launches("a", 1.1, 5), launches("b", 1.1, 5)});
  const json document = compared(base, updated);
  EXPECT_EQ((*row_of(document, "/a"))["tolerance"], 0.05);
  EXPECT_EQ((*row_of(document, "/a"))["flagged"], true);
  EXPECT_EQ((*row_of(document, "/b"))["tolerance"], usual_tolerance);
  TestRequest asked;
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
  EXPECT_NE(says([&] { compared(base, base); }).find("a run always equals itself"),
            std::string::npos);
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
  EXPECT_NE(document["rows"][0]["notes"].dump().find("the opposite direction"), std::string::npos);
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
  for (const bool markdown : {false, true}) {
    const std::string text = rendered(base, updated, {}, markdown);
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    if (markdown) {
      EXPECT_EQ(text.find(" <b>"), std::string::npos);
    }
  }
}

}  // namespace test_compare
}  // namespace assay::test
