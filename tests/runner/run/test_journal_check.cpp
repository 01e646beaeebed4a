// A real journal, one of whose values is removed or replaced: it is refused with file and line, or
// what is made of it is a result that every reader takes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "assay/test_paths.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/schema.hpp"
#include "runner/run/result_file.hpp"
#include "runner/run/run_plan.hpp"
#include "runner/run/run_record.hpp"

namespace test_journal_check {

using namespace assay;
namespace fs = std::filesystem;
using nlohmann::json;

class JournalCheck : public testing::Test {
 protected:
  JournalCheck() {
    fs::create_directories(folder_);
    write_json(suite_, {{"schema", "assay-suite/1"},
                        {"name", "test"},
                        {"timing", {{"max_time", 0.01}}},
                        {"ceilings", false},
                        {"cases", json::array({{{"benchmark", "conv"},
                                                {"problem", {"mb1ic8ih8oc8oh8kh3ph1"}},
                                                {"backend", {"reference"}},
                                                {"threads", {1}}}})}});
    const std::string command = std::string(ASSAY_BUILD_DIR) + "/bin/assay run " + suite_.string() +
                                " --out " + (folder_ / "run").string() + " >/dev/null 2>&1";
    is_recorded_ = std::system(command.c_str()) == 0;
    if (!is_recorded_) return;
    events_ = read_journal(folder_ / "run" / "journal.jsonl");
    events_.push_back({{"event", "bracket"},
                       {"started", format_utc_now()},
                       {"seconds", 1},
                       {"reason", "of a test"},
                       {"rows", json::array()}});
    events_.push_back(make_abandoned_event({"conv", 0, 5}, 0));
    json resume = events_.front();
    resume["event"] = "resume";
    events_.push_back(resume);
  }
  ~JournalCheck() override { fs::remove_all(folder_); }

  void put(const std::vector<json>& events) const {
    fs::remove(file_);
    Journal journal(file_);
    for (const json& event : events) journal.append(event);
  }
  /// The use of it by `assay run --resume`.
  void use() const {
    const RunRecord record = read_run(file_);
    RunPlan plan = plan_of_suite(suite_.string());
    recall(plan, record);
    check_finished(plan, record);
    check_machine(plan, capture_environment(), record);
    const json result = make_run_result(record, {});
    EXPECT_EQ(find_schema_errors(result, "result", ""), std::vector<std::string>{});
    for (std::size_t i = 0; i < result.at("rows").size(); ++i)
      check_row(result["rows"][i], i, result, "");
  }
  /// True if the journal was refused.
  bool refused(const std::string& what) const {
    try {
      use();
      return false;
    } catch (const InputError&) {
      return true;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
      return true;
    }
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("assay-journal-" + std::to_string(getpid()));
  const fs::path suite_ = folder_ / "suite.json", file_ = folder_ / "journal.jsonl";
  std::vector<json> events_;
  bool is_recorded_ = false;
};

const std::vector<json> replacements{
    nullptr, -1, "text", json::array({nullptr}), {{"x", json::array()}}};

TEST_F(JournalCheck, AMutatedEventIsRefusedOrHarmless) {
  ASSERT_TRUE(is_recorded_);
  put(events_);
  ASSERT_FALSE(refused("unchanged"));
  int mutations = 0, refusals = 0;
  const auto mutate = [&](std::size_t line, const json::json_pointer& place) {
    json& value = events_[line].at(place);
    const json before = value;
    for (const json& other : replacements) {
      if (other == before) continue;
      value = other;
      put(events_);
      ++mutations;
      refusals +=
          refused("line " + std::to_string(line + 1) + place.to_string() + " is " + other.dump());
    }
    value = before;
    json& parent = events_[line].at(place.parent_pointer());
    parent.erase(place.back());
    put(events_);
    ++mutations;
    refusals += refused("line " + std::to_string(line + 1) + " without " + place.to_string());
    parent[place.back()] = before;
  };
  for (std::size_t line = 0; line < events_.size(); ++line) {
    std::vector<json::json_pointer> places;
    for (const auto& [key, value] : events_[line].items()) {
      places.push_back(json::json_pointer() / key);
      if (key == "row" || key == "environment")
        for (const auto& [inner, unused] : value.items())
          places.push_back(json::json_pointer() / key / inner);
    }
    for (const json::json_pointer& place : places) mutate(line, place);
  }
  EXPECT_GT(mutations, 300);
  EXPECT_GT(refusals, mutations / 3);
}

TEST_F(JournalCheck, RowsOfALaterMinorVersionMayHaveMoreFields) {
  ASSERT_TRUE(is_recorded_);
  for (json& event : events_)
    if (event["event"] == "row") event["row"]["colour"] = "red";
  put(events_);
  EXPECT_TRUE(refused("a field that this version does not know"));
  for (json& event : events_)
    if (event["event"] == "launch") event["schema"] = "assay-result/1.1";
  put(events_);
  EXPECT_FALSE(refused("a field of a later version"));
  const json result = make_run_result(read_run(file_), {});
  EXPECT_EQ(result["schema"], "assay-result/1.1");
  EXPECT_EQ(result["rows"][0]["colour"], "red");
}

TEST_F(JournalCheck, ARefusalNamesFileAndLine) {
  ASSERT_TRUE(is_recorded_);
  for (std::size_t line = 0; line < events_.size(); ++line) {
    std::vector<json> events = events_;
    events[line]["event"] = "unknown";
    put(events);
    try {
      read_run(file_);
      FAIL() << line;
    } catch (const InputError& error) {
      const std::string begin =
          file_.string() + ": line " + std::to_string(line + 1) + " at /event";
      EXPECT_TRUE(std::string(error.what()).starts_with(begin)) << error.what();
    }
  }
}

TEST_F(JournalCheck, ARowIsHeldToWhatHoldsOfAResult) {
  ASSERT_TRUE(is_recorded_);
  const auto row = std::find_if(events_.begin(), events_.end(),
                                [](const json& event) { return event["event"] == "row"; });
  ASSERT_NE(row, events_.end());
  const json good = *row;
  ASSERT_EQ(good["row"]["status"], "ok") << good["row"]["reason"];
  const std::string where =
      file_.string() + ": line " + std::to_string(row - events_.begin() + 1) + " at /row";
  const auto expect_refused = [&](const std::string& pointer, const json& value,
                                  const std::string& said) {
    *row = good;
    (*row)["row"][json::json_pointer(pointer)] = value;
    put(events_);
    try {
      read_run(file_);
      ADD_FAILURE() << pointer;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(where + said)) << error.what();
    }
  };
  const double median = good["row"]["time_s"]["median"];
  expect_refused("/time_s/median", median * 1.01, "/time_s/median: found ");
  expect_refused("/samples_s/0", 1000, "/time_s/");
  expect_refused("/rates/flops_per_s", 1e30, "/rates/");
  expect_refused("/verification/norm_error", 1, "/verification/norm_error: found 1");
  expect_refused("/parameters/precision", "bf16", "/parameters/precision: found \"bf16\"");
  expect_refused("/problem/ic", 9, "/problem/ic: found 9");
  // The schema refuses a document that is not even a row, not an exception of the JSON library.
  expect_refused("/status", "okay", "/");
  expect_refused("/samples_s", "none", "/samples_s: found");
  expect_refused("/time_s", nullptr, "/time_s: found null");
  expect_refused("", json::object(), ": found no ");
  expect_refused("", nullptr, ": found null");
}

}  // namespace test_journal_check
