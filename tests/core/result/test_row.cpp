#include "core/result/row.hpp"

#include <gtest/gtest.h>

#include "core/base/paths.hpp"
#include "core/result/baseline.hpp"
#include "core/result/result.hpp"
#include "core/result/run_result.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace test_row {

using nlohmann::json;

json full_burn() {
  return {{"started_unix_s", 0.5},
          {"device", "cpu"},
          {"places", {"n1: processors 0"}},
          {"wall_s", 4.5},
          {"seconds", 3.5},
          {"check_s", 0.25},
          {"runs", 7},
          {"poisoned", 6},
          {"faulty", 1},
          {"undecided", 2},
          {"data",
           {{{"name", "integers"},
             {"exact", true},
             {"runs", 7},
             {"poisoned", 6},
             {"seconds", 3.5},
             {"faulty", 1},
             {"undecided", 2},
             {"excluded", "a reason"}}}},
          {"windows", {{{"unix_s", 2.5}, {"seconds", 3.5}, {"runs", 7}}}},
          {"faults",
           {{{"unix_s", 1.5},
             {"rank", 0},
             {"host", "n1"},
             {"data", "integers"},
             {"place", "dst[1]"},
             {"expected", "0x01"},
             {"found", "0x03"},
             {"differing_bits", "0x02"},
             {"elements", 1},
             {"device", "0000:18:00.0"},
             {"processors", nullptr},
             {"temperature_celsius", 60.5},
             {"clock_hz", nullptr},
             {"remark", nullptr}}}},
          {"power_w", {{"package-0", 80.5}}},
          {"device_hours", 0.5},
          {"faults_per_device_hour", 2.5},
          {"limit_per_device_hour", 9.5}};
}

/// A row with a value in each field of the schema.
json full_row() {
  const json ceiling = {
      {"flops_per_s", 2e12}, {"flops_precision", "fp32"}, {"bytes_per_s", nullptr},
      {"fraction", 0.25},    {"bound_by", "compute"},     {"memory_bytes", 1e6},
      {"level", "L2"},       {"exceeded", true},          {"brackets", {0, 1}}};
  return {{"id", "conv/a"},
          {"id_form", "conv/{problem}"},
          {"names", {"resnet50/a"}},
          {"benchmark", "conv"},
          {"problem",
           {{"descriptor", "mb1"},
            {"flops", 2.5e9},
            {"bytes", nullptr},
            {"mb", 1},
            {"shared_by", 2},
            {"amounts", {{"flops_per_s", 2.5e9}}}}},
          {"environment", 1},
          {"launch", 2},
          {"attempt", 3},
          {"required", true},
          {"parameters", {{"backend", "native"}, {"threads", 2}, {"alpha", 0.5}, {"ta", nullptr}}},
          {"step_parameters", {"precision"}},
          {"system_parameters", {"backend"}},
          {"tolerance", 0.02},
          {"part_of", {{{"list", "l"}, {"whole", "w"}, {"repeat", 2}, {"of", 3}}}},
          {"status", "ok"},
          {"reason", nullptr},
          {"executed",
           {{"algorithm", "winograd"},
            {"implementation", nullptr},
            {"storage", "fp32"},
            {"compute", "fp32"},
            {"accumulate", nullptr},
            {"layout", nullptr},
            {"workspace_bytes", 64},
            {"evidence", "library"},
            {"algorithmic_flops", 1e9},
            {"kernels_s", 0.5},
            {"working_threads", 2.0}}},
          {"verification",
           {{"passed", true},
            {"reference", "fp64"},
            {"max_error", 1e-6},
            {"norm_error", 1e-7},
            {"bound", 1e-5},
            {"norm_bound", nullptr},
            {"error_over_bound", 0.1},
            {"checked", 10},
            {"outputs", 20},
            {"wrong", 0},
            {"exact", false},
            {"reason", nullptr}}},
          {"setup_s", {{"make", 0.1}, {"plan", nullptr}}},
          {"samples_s", {0.5, 0.75}},
          {"time_s",
           {{"median", 0.625},
            {"mad", 0.125},
            {"min", 0.5},
            {"p95", 0.7},
            {"p99", 0.74},
            {"ci95", {0.5, 0.75}},
            {"ci95_reason", nullptr},
            {"n", 2},
            {"n_effective", 2.0},
            {"stopped_by", "precision"},
            {"batch", 1},
            {"clock_s", 1e-8},
            {"warmup_runs", 3},
            {"warmup_s", 0.2},
            {"foreign", 0.1},
            {"own", nullptr},
            {"waiting", 0.2},
            {"stolen", nullptr},
            {"throttled", 0.0},
            {"slowest_rank", 0},
            {"slowest_host", "a"},
            {"rank_medians_s", {0.5, 0.6}},
            {"barrier_skew_s", 1e-6},
            {"host_included", "all"},
            {"held", true}}},
          {"rates", {{"flops_per_s", 4e9}, {"bytes_per_s", nullptr}}},
          {"metrics",
           {{"accuracy", {{"value", 0.9}, {"unit", ""}, {"better", "higher"}}},
            {"loss", {{"value", nullptr}, {"unit", ""}, {"better", nullptr}}}}},
          {"epochs", {{{"epoch", 1}, {"seconds", 0.5}, {"accuracy", 0.9}}}},
          {"layers",
           {{{"layer", "conv1"},
             {"direction", "forward"},
             {"operation", "conv"},
             {"problem", "mb1"},
             {"backend", "native"},
             {"algorithm", "winograd"},
             {"compute", nullptr},
             {"algorithmic_flops", nullptr},
             {"runs", 1},
             {"seconds", 0.5},
             {"flops", 1e9},
             {"bytes", 1e6},
             {"rates", {{"flops_per_s", 2e9}}},
             {"ceiling", ceiling},
             {"ceiling_reason", "why"}}}},
          {"layers_sum", {{"seconds", 0.5}, {"fraction", 0.8}, {"agrees", false}}},
          {"ceiling", ceiling},
          {"ceiling_reason", nullptr},
          {"energy_j", 2.5},
          {"energy_domains_j", {{"package", 2.5}}},
          {"energy_reason", nullptr},
          {"device_state",
           {{"before", {{"clock_hz", 1e9}}},
            {"after", {{"clock_hz", 9e8}}},
            {"seconds", 1.5},
            {"throttled_s", {{"power", 0.5}}},
            {"steady", false}}},
          {"device_health", json::array({{{"device", "GPU 1"},
                                          {"host", "n1"},
                                          {"values", {{"pcie_width", 16.0}}},
                                          {"errors", {{"xid 48", 1.0}}},
                                          {"corrected", {{"pcie replays", 2.0}}},
                                          {"corrected_meanwhile", json::object()}}})},
          {"burn", full_burn()},
          {"blame", {{"unsupported", "with a lag"}}},
          {"baseline",
           {{"system", "titan"},
            {"value", 1.25},
            {"unit", "s"},
            {"speedup", 2.0},
            {"published", true},
            {"citation", "paper"},
            {"algorithm", nullptr},
            {"note", "a note"},
            {"projection", true},
            {"not_given", {"mb"}},
            {"shared", true},
            {"throttled", true},
            {"remark", "r"},
            {"ratio_printed", "2.0x"}}},
          {"note", "a note"},
          {"of_a_newer_version", {{"deep", 1}}}};
}

TEST(Row, LosesNoFieldOfItsFile) {
  const json before = full_row();
  const json after = before.get<Row>();
  EXPECT_EQ(after.dump(), before.dump()) << json::diff(before, after);
  // Every field of the schema stands in full_row(), but those of published rows.
  const json schema = read_json(data_folder("results-schema") / "result.schema.json");
  for (const auto& [name, field] : schema["definitions"]["row"]["properties"].items()) {
    static const std::set<std::string> published{
        "published",    "citation",          "printed",        "projection",
        "incomparable", "comparable_within", "baseline_reason"};
    EXPECT_TRUE(before.contains(name) || published.contains(name)) << name;
  }
}

TEST(Row, ReadsItsFields) {
  const Row row = full_row().get<Row>();
  EXPECT_TRUE(row.is_ok());
  EXPECT_EQ(row.median(), 0.625);
  EXPECT_EQ(row.parameter("threads"), "2");
  EXPECT_EQ(row.parameter("ta"), "");
  EXPECT_EQ(row.number("threads"), 2);
  EXPECT_EQ(row.number("backend"), std::nullopt);
  EXPECT_EQ(row.rate("flops_per_s"), 4e9);
  EXPECT_EQ(row.rate("bytes_per_s"), std::nullopt);
  EXPECT_EQ(row.problem.number("mb"), 1);
  EXPECT_EQ(row.problem.bytes, std::nullopt);
  EXPECT_EQ(row.time_s->ci95->high, 0.75);
  EXPECT_EQ(row.layers.at(0).ceiling->level, "L2");
  EXPECT_EQ(row.execution->rest.at("working_threads"), 2);
  EXPECT_EQ(row.rest.at("of_a_newer_version").at("deep"), 1);
}

TEST(Row, ATypedFieldWinsOverOneOfItsNameInRest) {
  Row row = full_row().get<Row>();
  row.execution->rest["algorithm"] = "another";
  row.rest["status"] = "failed";
  const json document = row;
  EXPECT_EQ(document["executed"]["algorithm"], "winograd");
  EXPECT_EQ(document["status"], "ok");
}

TEST(Row, OfABracketHasNoPlaceInAResult) {
  Row row = full_row().get<Row>();
  row.of_bracket = true;
  const json document = row;
  json expected = full_row();
  for (const char* field :
       {"environment", "launch", "attempt", "required", "samples_s", "baseline", "ceiling",
        "ceiling_reason", "energy_j", "energy_domains_j", "energy_reason"})
    EXPECT_EQ(expected.erase(field), 1U) << field;
  EXPECT_EQ(document, expected) << json::diff(document, expected);
}

TEST(Row, ReadingsOfADeviceAreThereEvenIfItTellsNone) {
  json document = full_row();
  document["device_state"]["before"] = document["device_state"]["after"] = json::object();
  EXPECT_EQ(json(document.get<Row>())["device_state"], document["device_state"]);
}

TEST(Row, OfOtherSystemsStayAsTheyArePublished) {
  for (const std::string& name : list_baseline_names()) {
    const json file = read_json(baseline_file(name));
    const RunResult result = file.get<RunResult>();
    ASSERT_EQ(result.rows.size(), file.at("rows").size()) << name;
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      const json& before = file["rows"][i];
      const json after = result.rows[i];
      // A field that says nothing may be left out, and another may say nothing.
      const json flat = before.flatten();
      for (const auto& [field, value] : flat.items()) {
        if (value.is_null() || (value.is_structured() && value.empty())) continue;
        EXPECT_EQ(after.value(json::json_pointer(field), json()), value)
            << name << " /rows/" << i << field;
      }
      EXPECT_TRUE(satisfies(after, "result", "row")) << name << " /rows/" << i;
    }
  }
}

}  // namespace test_row
}  // namespace assay
