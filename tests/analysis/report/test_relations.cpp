// Rows beside one another: roofline, precision, scaling, collectives.
#include <gtest/gtest.h>

#include "analysis/report/parts.hpp"
#include "report_data.hpp"

namespace test_relations {

using namespace assay;
using nlohmann::json;
using test::document_of;
using test::row;
using test::value_of;

json with_ceiling(json object, double flops, double bytes, double peak, double bandwidth) {
  object["problem"]["flops"] = flops;
  object["problem"]["bytes"] = bytes;
  object["ceiling"] = {
      {"flops_per_s", peak}, {"bytes_per_s", bandwidth}, {"fraction", 0.5}, {"bound_by", "flops"}};
  return object;
}

/// A row as assay-collectives writes it: the size is a setting, and so in the id.
json collective(double bytes, double seconds, const Settings& more = {}, int ranks = 8) {
  Settings settings{{"collective", "allreduce"},
                    {"transport", "mpi"},
                    {"bytes", std::to_string(static_cast<long>(bytes))}};
  for (const auto& [name, value] : more) settings[name] = value;
  json object = row("ok", seconds, 0, settings);
  object["id"] = object["id"].get<std::string>() + "/r" + std::to_string(ranks);
  object["benchmark"] = "collectives";
  object["problem"] = {{"descriptor", "allreduce"}, {"flops", nullptr}, {"bytes", bytes}};
  object["parameters"]["ranks"] = ranks;
  object["parameters"]["nodes"] = ranks / 4 + 1;
  const double passes = 2 * (ranks - 1.0) / ranks;
  object["rates"] = {{"busbw", passes * bytes / object["time_s"]["median"].get<double>()}};
  return object;
}

TEST(ReportDocument, RooflineHasPointsAndTheirCeilings) {
  const json document =
      document_of({with_ceiling(row("ok", 1e-3), 1e9, 1e8, 4e12, 1e11),
                   with_ceiling(row("ok", 2e-3, 0, {{"problem", "mb2"}}), 2e9, 1e9, 4e12, 3e11),
                   row("ok", 1e-3, 0, {{"problem", "mb3"}})});
  const json& part = document.at("roofline");
  ASSERT_EQ(part["points"].size(), 2U);
  EXPECT_DOUBLE_EQ(part["points"][0]["intensity"], 10);
  EXPECT_DOUBLE_EQ(part["points"][0]["rate"], 1e12);
  ASSERT_EQ(part["roofs"].size(), 1U);
  EXPECT_DOUBLE_EQ(part["roofs"][0]["bytes_per_s"], 2e11);
}

TEST(ReportDocument, WhatIsAboveItsRoofIsMarkedAndWinogradIsToldApart) {
  json above = with_ceiling(row("ok", 1e-3), 1e9, 1e8, 9e11, 1e11), within = above;
  within["problem"]["descriptor"] = within["parameters"]["problem"] = "mb2";
  within["id"] = "other";
  above["ceiling"]["exceeded"] = true;
  within["executed"]["algorithmic_flops"] = 4e8;
  const json document = document_of({above, within});
  EXPECT_EQ(value_of(document, 0, "exceeded"), 1);
  EXPECT_EQ(value_of(document, 1, "exceeded"), 0);
  EXPECT_EQ(document["roofline"]["points"][0]["fewer"], 0);
  EXPECT_EQ(document["roofline"]["points"][1]["fewer"], 1);
}

TEST(ReportDocument, TheFractionOfTheCeilingIsThatOfTheTerminal) {
  std::vector<json> rows;
  for (int launch = 0; launch < 3; ++launch) {
    rows.push_back(with_ceiling(row("ok", 1e-3, launch), 1e9, 1e8, 4e12, 1e11));
    rows.back()["ceiling"]["fraction"] = 0.2 + 0.1 * launch;
  }
  const json document = document_of(rows);
  EXPECT_DOUBLE_EQ(value_of(document, 0, "fraction"), 0.3);
  EXPECT_DOUBLE_EQ(document["roofline"]["points"][0]["fraction"], 0.3);
}

TEST(ReportDocument, RooflineKeepsADevicesRoofApart) {
  const json document =
      document_of({with_ceiling(row("ok", 1e-3), 1e9, 1e8, 4e12, 1e11),
                   with_ceiling(row("ok", 1e-4, 0, {{"backend", "cuda"}, {"device", "gpu"}}), 1e9,
                                1e8, 6e13, 3e12)});
  const json& roofs = document.at("roofline")["roofs"];
  ASSERT_EQ(roofs.size(), 2U);
  EXPECT_NE(roofs[1]["name"].get<std::string>().find(" fp32 gpu"), std::string::npos);
  EXPECT_DOUBLE_EQ(roofs[1]["bytes_per_s"], 3e12);
}

TEST(ReportDocument, RooflineNamesARoofByThePrecisionThatWasMeasured) {
  json half = with_ceiling(row("ok", 1e-3, 0, {{"precision", "fp16"}}), 1e9, 1e8, 4e12, 1e11);
  half["ceiling"]["flops_precision"] = "fp32";
  const json document = document_of({half});
  const json& roofs = document.at("roofline")["roofs"];
  ASSERT_EQ(roofs.size(), 1U);
  EXPECT_EQ(roofs[0]["label"], "fp32");
}

TEST(ReportDocument, PrecisionIsBesideTheFastestFp32OfTheSameWork) {
  json half = row("ok", 1e-3, 0, {{"precision", "bf16"}});
  half["verification"]["norm_error"] = 3e-3;
  const json document =
      document_of({row("ok", 4e-3), row("ok", 2e-3, 0, {{"algorithm", "winograd"}}), half,
                   row("ok", 1e-3, 0, {{"precision", "bf16"}, {"problem", "mb7"}})});
  const json& points = document.at("precision");
  ASSERT_EQ(points.size(), 3U);  // the other problem has no fp32
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(value_of(document, points[i]["reference"], "median"), 2e-3);
    if (value_of(document, points[i]["row"], "precision") == "bf16") {
      EXPECT_EQ(points[i]["executed"], "bf16 storage, arithmetic unknown");
      EXPECT_TRUE(points[i]["low"].is_null()) << "one launch has no interval";
      EXPECT_DOUBLE_EQ(points[i]["speedup"], 2);
      EXPECT_DOUBLE_EQ(points[i]["error"], 3e-3);
    }
  }
  EXPECT_FALSE(document_of({row("ok", 4e-3), row("ok", 2e-3, 0, {{"algorithm", "winograd"}})})
                   .contains("precision"));
}

TEST(ReportDocument, PrecisionsOfAnotherNumberOfOperationsAreNoPoints) {
  json half = row("ok", 1e-3, 0, {{"precision", "bf16"}});
  half["verification"]["norm_error"] = 3e-3;
  EXPECT_TRUE(document_of({row("ok", 4e-3), half}).contains("precision"));
  half["problem"]["flops"] = 2e9;
  EXPECT_FALSE(document_of({row("ok", 4e-3), half}).contains("precision"));
}

TEST(ReportDocument, PrecisionHasTheIntervalOverLaunches) {
  std::vector<json> rows;
  for (int launch = 0; launch < 6; ++launch) {
    rows.push_back(row("ok", 4e-3 * (1 + 0.01 * launch), launch));
    rows.push_back(row("ok", 2e-3, launch, {{"precision", "bf16"}}));
    rows.back()["energy_j"] = 1;
  }
  const json document = document_of(rows);
  const json& points = document.at("precision");
  ASSERT_EQ(points.size(), 2U);
  const std::size_t half = points[0]["speedup"] == 1 ? 1 : 0;
  EXPECT_DOUBLE_EQ(points[half]["low"], 2);
  EXPECT_DOUBLE_EQ(points[half]["high"], 2.1);
  EXPECT_EQ(points[half]["range"], 0);
  EXPECT_TRUE(points[half]["energy"].is_null()) << "fp32 has no joules";
  EXPECT_TRUE(points[1 - half]["low"].is_null()) << "fp32 is not set beside itself";
}

TEST(ReportDocument, CollectivesAreCurvesBySize) {
  std::vector<json> rows;
  for (const double size : {1e6, 1e3, 1e9, 1e4})
    rows.push_back(collective(size, 1e-6 + size * 1e-10));
  const json curve = document_of(rows).at("collectives").at("sizes").at(0);
  ASSERT_EQ(curve["points"].size(), 4U);
  EXPECT_EQ(curve["points"][1]["bytes"], 1e4);
  EXPECT_NEAR(curve["fit"]["alpha"], 1e-6, 1e-12);
  EXPECT_NEAR(curve["fit"]["beta"], 1e-10, 1e-16);
  EXPECT_NEAR(curve["points"][3]["busbw"], 1.75e9 / (1e-6 + 0.1), 1e3);
  const json few = document_of({rows[0], rows[1]}).at("collectives").at("sizes").at(0);
  EXPECT_TRUE(few["fit"].is_null());
  EXPECT_EQ(few["fit_reason"], "fewer than 3 sizes");
  EXPECT_TRUE(few["r_squared"].is_null());
  EXPECT_NEAR(curve["r_squared"], 1, 1e-9);
  EXPECT_LT(curve["fit"]["held_out"], 1e-6);
  EXPECT_EQ(curve["withheld"], false);
  EXPECT_EQ(curve["least"], "-");
}

TEST(ReportDocument, APoorLineOfACollectiveIsNotShown) {
  std::vector<json> rows;
  for (const double size : {1e3, 1e4, 1e6, 1e9})
    for (const char* algorithm : {"ring", "tree"})
      rows.push_back(collective(size, 1e-6 + size * 1e-10, {{"algorithm", algorithm}}));
  rows[2]["time_s"]["median"] = 1e-4;  // of ring, where the line says 2e-6
  const json part = document_of(rows).at("collectives");
  EXPECT_EQ(part["least_r_squared"], 0.9);
  std::map<std::string, json> curves;
  for (const json& curve : part.at("sizes")) curves[curve["name"]] = curve;
  ASSERT_EQ(curves.size(), 2U);
  const json &ring = curves.begin()->second, &tree = curves.rbegin()->second;
  EXPECT_TRUE(ring["fit"].is_null()) << ring;
  EXPECT_LT(ring["r_squared"], 0.9);
  EXPECT_EQ(ring["fit_reason"], "R\u00b2 below 0.9");
  EXPECT_NEAR(tree["fit"]["alpha"], 1e-6, 1e-12) << tree;
  for (const json& curve : {ring, tree}) {
    EXPECT_EQ(curve["withheld"], true);
    EXPECT_EQ(curve["least"], "withheld") << "who is the fastest is not known";
  }
}

TEST(ReportDocument, ScalingIsOverTheSmallestCount) {
  json two = row("ok", 8e-3), eight = row("ok", 4e-3, 0, {{"threads", "8"}});
  two["parameters"]["threads"] = 2;
  eight["parameters"]["threads"] = 8;
  const json curve = document_of({eight, two}).at("scaling").at(0);
  EXPECT_EQ(curve["over"], "threads");
  EXPECT_DOUBLE_EQ(curve["points"][0]["efficiency"], 1);
  EXPECT_DOUBLE_EQ(curve["points"][1]["speedup"], 2);
  EXPECT_DOUBLE_EQ(curve["points"][1]["ideal"], 4);
  EXPECT_DOUBLE_EQ(curve["points"][1]["efficiency"], 0.5);
}

TEST(ReportDocument, ThreadsWithWorkOfTheirOwnScaleWeakly) {
  // These rows are as in peak/fma, whose values are those of each thread: two do twice the work in
  // a quarter more.
  json one = row("ok", 4e-3, 0, {{"threads", "1"}}, 0, 1e9),
       two = row("ok", 5e-3, 0, {{"threads", "2"}}, 0, 2e9);
  const json curves = document_of({one, two}).at("scaling");
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0]["weak"], true);
  EXPECT_DOUBLE_EQ(curves[0]["points"][1]["speedup"], 1.6);
  EXPECT_DOUBLE_EQ(curves[0]["points"][1]["efficiency"], 0.8);
  // It is neither the same work nor as much for each thread.
  two["problem"]["flops"] = 3e9;
  EXPECT_FALSE(document_of({one, two}).contains("scaling"));
}

/// A row of several ranks as the program writes it.
json on_ranks(const std::string& benchmark, int ranks, double seconds, json problem,
              const std::string& rate, double amount, Settings more = {}) {
  more["problem"] = problem.at("descriptor");
  json object = row("ok", seconds, 0, more);
  object["id"] = object["id"].get<std::string>() + "/r" + std::to_string(ranks);
  object["benchmark"] = benchmark;
  object["parameters"]["ranks"] = ranks;
  problem["amounts"] = {{rate, amount}};
  if (ranks > 1 && !problem.contains("shared_by")) problem["shared_by"] = ranks;
  object["problem"] = problem;
  return object;
}

/// assay-resnet50 with a batch of each rank.
json resnet(int ranks, int batch, double seconds) {
  const double images = batch * ranks;
  const json problem{{"descriptor", "resnet50"}, {"depth", 50}, {"global_batch_size", images}};
  json object = on_ranks("resnet50", ranks, seconds, problem, "images_per_s", images,
                         {{"batch", std::to_string(batch)}});
  object["parameters"]["batch"] = batch;
  return object;
}

/// The only curve over ranks, which has all of the rows.
json only_curve(const std::vector<json>& rows, bool weak) {
  const json document = document_of(rows);
  EXPECT_TRUE(document.contains("scaling"));
  if (!document.contains("scaling")) return json::object();
  EXPECT_EQ(document["scaling"].size(), 1U) << document["scaling"];
  const json curve = document["scaling"][0];
  EXPECT_EQ(curve["over"], "ranks");
  EXPECT_EQ(curve["weak"], weak);
  EXPECT_EQ(curve["points"].size(), rows.size());
  return curve;
}

TEST(ReportDocument, MoreRanksWithTheSameBatchScaleWeakly) {
  const json points = only_curve({resnet(1, 32, 1), resnet(2, 32, 1.25)}, true)["points"];
  EXPECT_NEAR(points[1]["speedup"], 1.6, 1e-9);
  EXPECT_NEAR(points[1]["efficiency"], 0.8, 1e-9);
}

TEST(ReportDocument, MoreRanksThatShareABatchScaleStrongly) {
  const json points = only_curve({resnet(1, 64, 1), resnet(2, 32, 0.625)}, false)["points"];
  EXPECT_NEAR(points[1]["speedup"], 1.6, 1e-9);
  EXPECT_NEAR(points[1]["efficiency"], 0.8, 1e-9);
}

TEST(ReportDocument, RanksOfTheInputPipelineShareItsImages) {
  const auto input = [](int ranks, int images, double seconds) {
    const json problem{{"descriptor", "n" + std::to_string(images) + "mb32s224"},
                       {"n", images},
                       {"mb", 32},
                       {"s", 224}};
    return on_ranks("input", ranks, seconds, problem, "images_per_s", images);
  };
  EXPECT_NEAR(
      only_curve({input(1, 256, 1), input(2, 256, 0.625)}, false)["points"][1]["efficiency"], 0.8,
      1e-9);
  EXPECT_NEAR(only_curve({input(1, 256, 1), input(2, 512, 1.25)}, true)["points"][1]["efficiency"],
              0.8, 1e-9);
}

TEST(ReportDocument, RanksOfAnAnalysisShareItsTable) {
  const auto pca = [](int ranks, int rows, double seconds) {
    const json problem{{"descriptor", "n" + std::to_string(rows) + "d250"},
                       {"n", rows},
                       {"d", 250},
                       {"size", rows * 2000.0},
                       {"passes", 1}};
    return on_ranks("pca", ranks, seconds, problem, "input_bytes_per_s", rows * 2000.0);
  };
  EXPECT_NEAR(only_curve({pca(1, 1000, 1), pca(2, 1000, 0.625)}, false)["points"][1]["efficiency"],
              0.8, 1e-9);
  EXPECT_NEAR(only_curve({pca(1, 1000, 1), pca(2, 2000, 1.25)}, true)["points"][1]["efficiency"],
              0.8, 1e-9);
  EXPECT_FALSE(document_of({pca(1, 1000, 1), pca(2, 3000, 1)}).contains("scaling"));
}

TEST(ReportDocument, RanksWithAProblemOfTheirOwnScaleWeakly) {
  const auto part = [](int ranks, double seconds) {
    const json problem{{"descriptor", "eigh:d250"}, {"d", 250}, {"shared_by", 1}};
    return on_ranks("pca", ranks, seconds, problem, "flops_per_s", 1e8);
  };
  EXPECT_NEAR(only_curve({part(1, 1), part(2, 1.25)}, true)["points"][1]["efficiency"], 0.8, 1e-9);
}

TEST(ReportDocument, CollectivesAreToldApartByWhatDiffers) {
  std::vector<json> rows;
  for (const double size : {1e3, 1e4, 1e6}) {
    rows.push_back(collective(size, 1e-6 + size * 1e-10));
    rows.push_back(collective(size, 2e-6 + size * 1e-10, {{"transport", "gloo"}}));
    rows.push_back(collective(size, 3e-6 + size * 1e-10, {{"collective", "broadcast"}}));
  }
  const json part = document_of(rows).at("collectives");
  ASSERT_EQ(part["sizes"].size(), 3U);
  std::map<std::string, std::string> groups;
  for (const json& curve : part["sizes"]) {
    groups[curve["name"]] = curve["group"];
    EXPECT_NE(curve["full"].get<std::string>().find("direct onednn fp32"), std::string::npos);
    EXPECT_EQ(curve["points"].size(), 3U);
  }
  EXPECT_EQ(groups, (std::map<std::string, std::string>{{"allreduce mpi", "allreduce"},
                                                        {"allreduce gloo", "allreduce"},
                                                        {"broadcast mpi", "broadcast"}}));
  EXPECT_TRUE(part["ranks"].empty());
}

TEST(ReportDocument, CollectivesOverRanksAreOfTheLargestMessage) {
  std::vector<json> rows;
  for (const int ranks : {2, 4, 8}) {
    rows.push_back(collective(1e3, 1e-6 * ranks, {}, ranks));
    rows.push_back(collective(1e6, 1e-3 * ranks, {}, ranks));
  }
  rows.push_back(collective(1e9, 1, {}, 8));  // one number of ranks alone is no curve
  const json part = document_of(rows).at("collectives");
  ASSERT_EQ(part["ranks"].size(), 1U);
  const json& curve = part["ranks"][0];
  EXPECT_EQ(curve["bytes"], 1e6);
  ASSERT_EQ(curve["points"].size(), 3U);
  EXPECT_EQ(curve["points"][2]["count"], 8);
  // 2 (n - 1) / n of the message: 1 of it by 2 ranks in 2 ms, 7/4 of it by 8 in 8 ms.
  EXPECT_NEAR(curve["points"][2]["efficiency"], 1.75 / 4, 1e-9);
  EXPECT_FALSE(document_of(rows).contains("scaling")) << "more ranks move more bytes";
}

TEST(ReportDocument, PrecisionOfAMessageIsOfAsManyElements) {
  json half = collective(2e6, 1e-3, {{"precision", "fp16"}});
  half["verification"]["norm_error"] = 2e-4;
  const std::vector<json> rows{collective(4e6, 2e-3), collective(2e6, 1.5e-3), half};
  const json document = document_of(rows);
  const json& points = document.at("precision");
  ASSERT_EQ(points.size(), 2U) << "2 MB of fp32 are other work than 2 MB of fp16";
  for (std::size_t i = 0; i < 2; ++i)
    if (value_of(document, points[i]["row"], "precision") == "fp16") {
      EXPECT_DOUBLE_EQ(points[i]["speedup"], 2);
      EXPECT_DOUBLE_EQ(points[i]["error"], 2e-4);
    }
}

TEST(ReportDocument, DerivedNumbersInheritTheMark) {
  const auto noisy = [](json made) {
    made["time_s"]["stolen"] = 0.5;
    return made;
  };
  std::vector<json> rows;
  for (const int ranks : {2, 4}) {
    const json large = collective(1e6, 1e-3 * ranks, {}, ranks);
    rows.push_back(ranks == 2 ? noisy(large) : large);
    rows.push_back(collective(1e3, 1e-6 * ranks, {}, ranks));
  }
  const json document = document_of(rows);
  const json& over_ranks = document["collectives"]["ranks"][0]["points"];
  EXPECT_EQ(over_ranks[0]["mark"], "!");
  EXPECT_EQ(over_ranks[1]["mark"], "!") << "its efficiency is over the disturbed one";
  for (const json& curve : document["collectives"]["sizes"])
    EXPECT_EQ(curve["mark"], curve["name"].get<std::string>().ends_with("ranks 2") ? "!" : "")
        << curve["name"];
  json half = row("ok", 1e-3, 0, {{"precision", "bf16"}});
  const json precision = document_of({noisy(row("ok", 4e-3)), half})["precision"];
  for (const json& point : precision) EXPECT_EQ(point["mark"], "!") << "over a disturbed fp32";
  json more = row("ok", 4e-3, 0, {{"threads", "8"}});
  more["parameters"]["threads"] = 8;
  const json scaled = document_of({row("ok", 8e-3), noisy(more)})["scaling"][0]["points"];
  EXPECT_EQ(scaled[0]["mark"], "");
  EXPECT_EQ(scaled[1]["mark"], "!");
}

TEST(ReportDocument, RanksWithAProblemEachDoMoreWork) {
  const auto curve_with = [](const char* whole) {
    json object = row("ok", 1e-3, 0, {{"cache", "hot"}}), four = row("ok", 1.25e-3);
    four["id"] = "four";
    four["parameters"]["ranks"] = 4;
    for (json* each : {&object, &four})
      if (*whole != 0) (*each)["problem"][whole] = 64;
    return document_of({object, four}).at("scaling").at(0);
  };
  const json weak = curve_with("");
  EXPECT_EQ(weak["weak"], true);
  EXPECT_DOUBLE_EQ(weak["points"][1]["efficiency"], 0.8);
  EXPECT_DOUBLE_EQ(weak["points"][1]["speedup"], 3.2);
  for (const char* whole : {"size", "global_batch_size"}) {
    const json strong = curve_with(whole);
    EXPECT_EQ(strong["weak"], false);
    EXPECT_DOUBLE_EQ(strong["points"][1]["speedup"], 0.8);
    EXPECT_DOUBLE_EQ(strong["points"][1]["efficiency"], 0.2);
  }
}

}  // namespace test_relations
