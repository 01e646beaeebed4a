// Fields that a later minor version of a result has: they are accepted, and kept in copies.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_new_fields {

using nlohmann::json;

std::string refusal(const json& document) {
  const fixture::Folder folder;
  write_json(folder.path() / "result.json", document);
  try {
    read_result(folder.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(NewFields, AreKeptOfALaterMinorVersion) {
  json document = fixture::result({fixture::row(fixture::good_outcome())});
  document["rows"][0]["weather"] = {{"sky", "grey"}};
  document["rows"][0]["time_s"]["weather"] = 5;
  document["weather"] = json::array({1});
  EXPECT_NE(refusal(document).find("unknown field 'weather'"), std::string::npos);
  document["schema"] = "assay-result/1.1";
  EXPECT_EQ(refusal(document), "accepted");
  const fixture::Folder folder;
  write_json(folder.path() / "result.json", document);
  const json copy = read_result(folder.path());
  EXPECT_EQ(copy, document) << json::diff(document, copy);
  // Fields that both versions know are checked as before.
  for (const auto& [place, value] : {std::pair<const char*, json>{"/rows/0/status", "okay"},
                                     {"/rows/0/time_s/median", 99.0},
                                     {"/rows/0/time_s/clock_s", "no number"}}) {
    json spoilt = document;
    spoilt[json::json_pointer(place)] = value;
    EXPECT_NE(refusal(spoilt).find(place), std::string::npos) << refusal(spoilt);
  }
  json without = document;
  without["rows"][0].erase("rates");
  EXPECT_NE(refusal(without).find("found no \"rates\""), std::string::npos);
}

TEST(NewFields, NeedALaterMinorNumber) {
  json document = fixture::result({});
  document["weather"] = 1;
  for (const char* schema : {"assay-result/0", "assay-result/0.1", "assay-result/1.0",
                             "assay-result/1.x", "assay-result/1.1x", "assay-result/"}) {
    document["schema"] = schema;
    EXPECT_NE(refusal(document).find("expected \"assay-result/1\""), std::string::npos)
        << refusal(document);
    EXPECT_EQ(refusal(document).find("newer"), std::string::npos) << schema;
  }
  document["schema"] = "assay-result/2.1";
  EXPECT_NE(refusal(document).find("written by a newer version"), std::string::npos);
}

}  // namespace test_new_fields
}  // namespace assay
