// Result files that are read in parts: the same as read as a whole.

#include "core/result/row_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/result/result.hpp"
#include "core/result/row_index.hpp"

namespace assay {
namespace test_row_reader {

using nlohmann::json;
namespace fs = std::filesystem;

std::optional<RowIndex> index_of(const std::string& text) {
  std::istringstream stream(text);
  return index_rows(stream);
}

/// The document that the parts of a text make.
json put_together(const std::string& text) {
  const std::optional<RowIndex> index = index_of(text);
  if (!index) return "not in parts";
  json made = json::parse(index->head);
  EXPECT_EQ(made.at("rows"), json::array({0}));
  made["rows"] = json::array();
  for (const RowPlace& place : index->rows)
    made["rows"].push_back(json::parse(text.substr(place.offset, place.length)));
  return made;
}

TEST(RowIndex, FindsTheRows) {
  for (const std::string text :
       {R"({"rows":[]})", R"( { "a" : 1 , "rows" : [ ] , "b":[{"rows":[1]}] } )",
        R"({"rows":[{"x":"}],\"{"},{"y":[[],{}]}],"run":{"id":"rows"}})",
        R"({"system":"rows","rows":[{"a":"\\"},{"b":"\\\""}]})", "{\"rows\":[\n{},\n{}]\n}\n"})
    EXPECT_EQ(put_together(text), json::parse(text)) << text;
}

TEST(RowIndex, LeavesTheRestToTheParser) {
  for (const std::string text :
       {"", "[]", "{}", R"({"rows":[{}])", R"({"rows":[{}]}x)", R"({"rows":[{},]})",
        R"({"rows":[,{}]})", R"({"rows":[{}{}]})", R"({"rows":[1]})", R"({"rows":{}})",
        R"({"rows":[{}],"rows":[]})", R"({"r\u006fws":[],"rows":[{}]})", R"({"rows":[{}]]})"})
    EXPECT_FALSE(index_of(text)) << text;
}

class RowReader : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    std::ifstream stream("tests/golden/results/statistics_1.json");
    original_ = json::parse(stream);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& text) const {
    const fs::path file = folder_ / "result.json";
    std::ofstream(file) << text;
    return file;
  }
  static json read(const fs::path& file, std::size_t threads) {
    return read_result_rows(
        file, [](Row&, std::string_view, const RunResult&) { return true; }, threads);
  }
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  fs::path folder_ = fs::temp_directory_path() / ("assay-row-reader" + std::to_string(::getpid()));
  json original_;
};

TEST_F(RowReader, ReadsWhatReadResultReads) {
  for (const int indent : {-1, 1}) {
    const fs::path file = write(original_.dump(indent));
    for (const std::size_t threads : {1, 3})
      EXPECT_EQ(read(file, threads), json(read_result(file)));
  }
}

TEST_F(RowReader, KeepsWhatIsWanted) {
  const fs::path file = write(original_.dump());
  const std::string wanted = original_["rows"].back()["id"];
  const RunResult result = read_result_rows(
      file,
      [&](Row& row, std::string_view text, const RunResult& head) {
        EXPECT_EQ(json(json::parse(text).get<Row>()), json(row));
        EXPECT_EQ(head.environments.size(), original_["environments"].size());
        const bool keep = row.id == wanted;
        row.samples_s.clear();
        return keep;
      },
      2);
  ASSERT_GE(result.rows.size(), 1U);
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.id, wanted);
    EXPECT_TRUE(row.samples_s.empty());
  }
}

TEST_F(RowReader, KeepsTheTextOfNewFields) {
  original_["schema"] = "assay-result/1.7";
  original_["rows"][0]["weather"] = {{"sky", "grey"}};
  original_["rows"][0]["time_s"]["weather"] = 5;
  std::string whole =
      original_.dump();  // with an escape in its name, "rows" cannot be read in parts
  whole.replace(whole.find("\"rows\""), 6, "\"r\\u006fws\"");
  for (const std::string& text : {original_.dump(), whole}) {
    json first;
    read_result_rows(
        write(text),
        [&](Row& row, std::string_view kept, const RunResult& head) {
          EXPECT_EQ(head.schema, "assay-result/1.7");
          if (row.rest.contains("weather")) first = json::parse(kept);
          return false;
        },
        1);
    EXPECT_EQ(first, original_["rows"][0]) << text.substr(0, 100);
  }
}

TEST_F(RowReader, RefusesWhatReadResultRefuses) {
  const auto with = [&](const std::string& pointer, const json& value) {
    json changed = original_;
    changed[json::json_pointer(pointer)] = value;
    return changed.dump();
  };
  json twice = original_;
  twice["rows"].push_back(twice["rows"][0]);
  std::string cut = original_.dump();
  cut.resize(cut.size() / 2);
  std::string key = original_.dump();
  key.insert(key.find("\"status\""), "\"status\":\"ok\",");
  std::size_t ok = 0;
  while (original_["rows"][ok]["status"] != "ok") ++ok;
  const std::string row = "/rows/" + std::to_string(ok);
  for (const std::string& text :
       {with(row + "/time_s/median", 1234.5), with(row + "/status", "okay"),
        with(row + "/environment", 99), with("/run/id", ""), with("/schema", "assay-result/2"),
        twice.dump(), cut, key, original_.dump() + "x", std::string("{\"rows\":[{}]}")}) {
    const fs::path file = write(text);
    const std::string whole = refusal([&] { read_result(file); });
    EXPECT_NE(whole, "accepted") << text.substr(0, 100);
    EXPECT_EQ(refusal([&] { read(file, 2); }), whole);
  }
}

}  // namespace test_row_reader
}  // namespace assay
