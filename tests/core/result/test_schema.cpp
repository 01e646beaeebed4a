// The schemas themselves, and the messages about what breaks them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "core/base/paths.hpp"
#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_schema {

using fixture::Folder;
using fixture::message_of;
using nlohmann::json;

const json& schema_text(const std::string& name) {
  static std::map<std::string, json> all;
  if (!all.count(name))
    all[name] = read_json(data_folder("results-schema") / (name + ".schema.json"));
  return all[name];
}

/// Every keyword of a schema, by walking where draft-07 has sub-schemas.
void collect(const json& node, std::set<std::string>& keywords, std::set<std::string>& references) {
  if (!node.is_object()) return;
  for (const auto& [key, value] : node.items()) {
    keywords.insert(key);
    if (key == "$ref") references.insert(value.get<std::string>());
    if (key == "properties" || key == "definitions")
      for (const auto& [name, inner] : value.items()) collect(inner, keywords, references);
    for (const char* keyword : {"items", "additionalProperties", "if", "then", "else", "not",
                                "contains", "propertyNames"})
      if (key == keyword) collect(value, keywords, references);
    if (key == "allOf" || key == "anyOf" || key == "oneOf")
      for (const json& inner : value) collect(inner, keywords, references);
  }
}

class ShippedSchema : public testing::TestWithParam<const char*> {};

/// valijson 1.0 accepts in silence what violates a keyword that it does not know: newer drafts' and
/// misspelt ones.
TEST_P(ShippedSchema, UsesOnlyKeywordsThatAreEnforced) {
  const std::set<std::string> enforced{"type",
                                       "const",
                                       "enum",
                                       "required",
                                       "properties",
                                       "additionalProperties",
                                       "items",
                                       "minimum",
                                       "maximum",
                                       "exclusiveMinimum",
                                       "exclusiveMaximum",
                                       "minLength",
                                       "maxLength",
                                       "minItems",
                                       "maxItems",
                                       "uniqueItems",
                                       "minProperties",
                                       "maxProperties",
                                       "allOf",
                                       "if",
                                       "then",
                                       "else",
                                       "$ref"};
  const std::set<std::string> words{"$schema", "title", "description", "definitions"};
  std::set<std::string> keywords, references;
  const json& schema = schema_text(GetParam());
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  collect(schema, keywords, references);
  for (const std::string& keyword : keywords)
    EXPECT_TRUE(enforced.count(keyword) + words.count(keyword)) << keyword;
  for (const std::string& reference : references)
    EXPECT_TRUE(schema.contains(json::json_pointer(reference.substr(1)))) << reference;
}

/// A definition that nothing refers to checks nothing.
TEST_P(ShippedSchema, UsesEveryDefinition) {
  std::set<std::string> keywords, references;
  const json& schema = schema_text(GetParam());
  collect(schema, keywords, references);
  const json definitions = schema.value("definitions", json::object());
  for (const auto& [name, unused] : definitions.items())
    EXPECT_TRUE(references.count("#/definitions/" + name)) << name;
}

/// valijson has std::regex for these, which ends the process at a long text.
TEST(ShippedSchemas, HaveNoRegularExpression) {
  int schemas = 0;
  for (const auto& file : std::filesystem::directory_iterator(data_folder("results-schema"))) {
    if (!file.path().string().ends_with(".schema.json")) continue;
    ++schemas;
    std::set<std::string> keywords, references;
    collect(read_json(file.path()), keywords, references);
    for (const char* keyword : {"pattern", "patternProperties", "format"})
      EXPECT_FALSE(keywords.contains(keyword)) << file.path() << " " << keyword;
  }
  EXPECT_GT(schemas, 10);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedSchema, testing::Values("result", "suite", "problems"),
                         [](const auto& info) { return std::string(info.param); });

struct Fault {
  const char* name;
  const char* pointer;  ///< the field to replace; null as the value: removed
  json value;
  std::vector<std::string> says;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class ResultFault : public testing::TestWithParam<Fault> {};

TEST_P(ResultFault, IsNamed) {
  json document = fixture::result({fixture::row(fixture::good_outcome())});
  ASSERT_TRUE(find_schema_errors(document, "result", "r.json").empty());
  const json::json_pointer place(GetParam().pointer);
  if (GetParam().value.is_discarded())
    document.at(place.parent_pointer()).erase(place.back());
  else
    document[place] = GetParam().value;
  const std::vector<std::string> errors = find_schema_errors(document, "result", "r.json");
  ASSERT_FALSE(errors.empty());
  std::string all;
  for (const std::string& error : errors) all += error + "\n";
  for (const std::string& part : GetParam().says) EXPECT_SAYS(all, part);
}

const json removed(json::value_t::discarded);
INSTANTIATE_TEST_SUITE_P(
    Of, ResultFault,
    testing::Values(
        Fault{"status",
              "/rows/0/status",
              "okay",
              {"r.json at /rows/0/status: found \"okay\", expected one of ok, unsupported",
               "Did you mean 'ok'?"}},
        Fault{"type",
              "/rows/0/launch",
              "1",
              {"r.json at /rows/0/launch: found \"1\", expected an integer."}},
        Fault{"negative",
              "/rows/0/launch",
              -1,
              {"at /rows/0/launch: found -1, expected at least 0."}},
        Fault{"negative_time",
              "/rows/0/samples_s/3",
              -0.5,
              {"at /rows/0/samples_s/3: found -0.5, expected at least 0."}},
        Fault{
            "missing", "/rows/0/time_s", removed, {"at /rows/0: found no \"time_s\", expected it"}},
        Fault{"missing_row_part",
              "/rows/0/verification",
              removed,
              {"at /rows/0: found no \"verification\""}},
        Fault{"unverified",
              "/rows/0/verification",
              nullptr,
              {"at /rows/0/verification: found null, expected an object"}},
        Fault{"not_passed",
              "/rows/0/verification/passed",
              false,
              {"at /rows/0/verification/passed: found false, expected true"}},
        Fault{"unknown_field",
              "/rows/0/statsu",
              "ok",
              {"at /rows/0/statsu: found an unknown field 'statsu'. Did you mean 'status'?"}},
        Fault{"unknown_time",
              "/rows/0/time_s/medain",
              1,
              {"unknown field 'medain'", "Did you mean 'median'?"}},
        Fault{"unknown_top",
              "/sytem",
              json::object(),
              {"at /sytem: found an unknown field 'sytem'", "Did you mean 'system'?"}},
        Fault{"empty_name",
              "/system/name",
              "",
              {"at /system/name: found \"\", expected a text of at least 1 characters."}},
        Fault{"no_samples",
              "/rows/0/samples_s",
              json::array(),
              {"at /rows/0/samples_s: found a list of 0, expected a list of at least 1"}},
        Fault{"interval",
              "/rows/0/time_s/ci95",
              json::array({1}),
              {"at /rows/0/time_s/ci95: found a list of 1, expected a list of at least 2"}},
        Fault{"evidence",
              "/rows/0/executed/evidence",
              "guess",
              {"at /rows/0/executed/evidence: found \"guess\", expected one of library"}},
        Fault{"executed_text",
              "/rows/0/executed/tile",
              "4",
              {"at /rows/0/executed/tile: found \"4\", expected a number or null."}},
        Fault{"hashes",
              "/environments/0/hashes",
              removed,
              {"at /environments/0: found no \"hashes\""}},
        Fault{"parameters",
              "/rows/0/parameters/threads",
              json::array({2}),
              {"at /rows/0/parameters/threads: found a list of 1, expected"}},
        Fault{"publishing_without_source",
              "/rows/0/published",
              true,
              {"found no \"citation\"", "found no \"printed\""}},
        Fault{"rows", "/rows", "none", {"at /rows: found \"none\", expected a list."}},
        Fault{"kind",
              "/schema",
              "assay-suite/1",
              {"at /schema: found \"assay-suite/1\", expected \"assay-result/1\"."}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ResultSchema, AWrongNumberCannotBeARow) {
  Outcome outcome = fixture::good_outcome();
  outcome.status = "incorrect";
  outcome.reason = "dst[0] is wrong.";
  json document = fixture::result({fixture::row(outcome)});
  ASSERT_TRUE(find_schema_errors(document, "result", "r.json").empty());
  const json ok = fixture::row(fixture::good_outcome());
  for (const char* part : {"time_s", "samples_s", "rates"}) {
    json spoilt = document;
    spoilt["rows"][0][part] = ok[part];
    const auto errors = find_schema_errors(spoilt, "result", "r.json");
    ASSERT_EQ(errors.size(), 1u) << part;
    EXPECT_SAYS(errors[0], std::string("at /rows/0/") + part);
    EXPECT_SAYS(errors[0], "A wrong or unverified number is never reported as a result");
  }
  document["rows"][0]["reason"] = nullptr;
  EXPECT_SAYS(find_schema_errors(document, "result", "r.json").at(0),
              "at /rows/0/reason: found null, expected a text");
  document["rows"][0]["reason"] = "";
  EXPECT_FALSE(find_schema_errors(document, "result", "r.json").empty());
  document["rows"][0]["reason"] = "x";
  document["rows"][0]["verification"] = nullptr;
  EXPECT_FALSE(find_schema_errors(document, "result", "r.json").empty());
}

TEST(ResultSchema, EveryFieldOfARowIsChecked) {
  // A value of another type in place of any field of an ok row is refused.
  const json row = fixture::row(fixture::good_outcome());
  for (const auto& [key, value] : row.items()) {
    json document = fixture::result({row});
    document["rows"][0][key] = value.is_object() ? json(7) : json::object({{"x", json::object()}});
    const auto errors = find_schema_errors(document, "result", "r.json");
    std::string all;
    for (const std::string& error : errors) all += error + "\n";
    EXPECT_SAYS(all, "at /rows/0/" + key);
  }
}

TEST(ResultSchema, OnlyTheFirstErrorsAreTold) {
  const Folder folder;
  json document = fixture::result({});
  for (int i = 0; i < 20; ++i) {
    document["rows"].push_back(fixture::row(fixture::good_outcome(), i));
    document["rows"].back()["launch"] = "x";
  }
  write_json(folder.path() / "r.json", document);
  const std::string message = message_of([&] { read_checked(folder.path() / "r.json", "result"); });
  EXPECT_SAYS(message, "/rows/0/launch");
  EXPECT_SAYS(message, "/rows/4/launch");
  EXPECT_SAYS(message, "… and 15 more.");
  EXPECT_EQ(message.find("/rows/5/launch"), std::string::npos);
}

TEST(SuiteSchema, GoodAndBad) {
  const json good = {{"schema", "assay-suite/1"},
                     {"name", "smoke"},
                     {"cases",
                      {{{"benchmark", "conv"},
                        {"problem", {"coral2"}},
                        {"threads", {1, 2}},
                        {"direction", "forward"},
                        {"required", true}}}},
                     {"timing", {{"max_time", 0.5}, {"precision_target", 0.02}}}};
  EXPECT_TRUE(find_schema_errors(good, "suite", "s.json").empty());
  const auto first = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    const auto errors = find_schema_errors(bad, "suite", "s.json");
    return errors.empty() ? "accepted" : errors[0];
  };
  EXPECT_SAYS(first("/cases", json::array()),
              "at /cases: found a list of 0, expected a list of at least 1.");
  EXPECT_SAYS(first("/timing/max_tiem", 1), "Did you mean 'max_time'?");
  EXPECT_SAYS(first("/timing/max_time", 0), "at /timing/max_time: found 0, expected more than 0");
  EXPECT_SAYS(first("/timing/precision_target", 2), "expected at most 1");
  EXPECT_SAYS(first("/cases/0/required", "yes"),
              "at /cases/0/required: found \"yes\", expected true or false.");
  EXPECT_SAYS(first("/cases/0/problem/0", 1.5),
              "at /cases/0/problem/0: found 1.5, expected a text or an integer.");
  EXPECT_SAYS(first("/cases/0/direction", json::object()),
              "at /cases/0/direction: found an empty object");
  EXPECT_SAYS(first("/schema", "assay-suite/2"), "written by a newer version of Assay");
}

TEST(Schema, AnUnknownSchemaIsAnError) {
  EXPECT_THROW(find_schema_errors({}, "no-such", "x"), InputError);
}

}  // namespace test_schema
}  // namespace assay
