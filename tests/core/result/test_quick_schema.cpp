// The quick check of schemas: as strict as valijson on whatever is damaged.
#include "core/result/quick_schema.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/base/paths.hpp"
#include "core/result/schema.hpp"
#include "tests/support/valijson_schema.hpp"

namespace assay {
namespace test_quick_schema {

using nlohmann::json;
namespace fs = std::filesystem;

bool accepts(const json& schema, const json& value) {
  const auto quick = QuickSchema::compile(schema);
  EXPECT_TRUE(quick) << schema;
  return quick && quick->accepts(value);
}

struct Keyword {
  const char* schema;
  const char* good;  ///< lists of values
  const char* bad;
};

class Keywords : public testing::TestWithParam<Keyword> {};

TEST_P(Keywords, AreJudged) {
  const Keyword& keyword = GetParam();
  for (const json& value : json::parse(keyword.good))
    EXPECT_TRUE(accepts(json::parse(keyword.schema), value)) << value;
  for (const json& value : json::parse(keyword.bad))
    EXPECT_FALSE(accepts(json::parse(keyword.schema), value)) << value;
}

INSTANTIATE_TEST_SUITE_P(
    Each, Keywords,
    testing::Values(
        Keyword{R"({"type":"integer"})", "[1,-1]", R"([1.0,"1",null])"},
        Keyword{R"({"type":["number","null"]})", "[1,1.5,null]", R"([true,"1",[],{}])"},
        Keyword{R"({"const":"ok"})", R"(["ok"])", R"(["OK",null,["ok"]])"},
        Keyword{R"({"enum":["a",null,true]})", R"(["a",null,true])", R"(["b",false,0])"},
        Keyword{R"({"minimum":0,"maximum":2})", R"([0,2,"text"])", "[-1,2.5]"},
        Keyword{R"({"exclusiveMinimum":0,"exclusiveMaximum":2})", "[0.1,null]", "[0,2,-1]"},
        Keyword{R"({"minLength":1})", R"(["a","ä",1])", R"([""])"},
        Keyword{R"({"minItems":1,"maxItems":2,"items":{"type":"null"}})", "[[null],{}]",
                "[[],[null,null,null],[1]]"},
        Keyword{R"({"minProperties":1,"maxProperties":1})", R"([{"a":1},[]])",
                R"([{},{"a":1,"b":2}])"},
        Keyword{R"({"required":["b","a"]})", R"([{"a":1,"b":1},{"a":1,"aa":1,"b":1,"c":1},1])",
                R"([{},{"a":1},{"b":1},{"aa":1,"b":1},{"a":1,"c":1}])"},
        Keyword{R"({"properties":{"b":{"type":"null"}},"additionalProperties":false})",
                R"([{},{"b":null}])", R"([{"b":1},{"a":1},{"b":null,"c":1}])"},
        Keyword{R"({"properties":{"b":{}},"additionalProperties":{"type":"null"}})",
                R"([{"a":null,"b":1,"c":null}])", R"([{"a":1,"b":1},{"b":1,"c":1}])"},
        Keyword{R"({"allOf":[{"minimum":1},{"maximum":2}]})", "[1,2]", "[0,3]"},
        Keyword{R"({"if":{"type":"null"},"then":{"const":false},"else":{"type":"string"}})",
                R"(["a"])", "[null,1]"},
        Keyword{R"({"if":{"type":"number"},"then":{"minimum":1}})", R"([1,"a"])", "[0]"},
        Keyword{R"({"definitions":{"t":{"type":"array","items":{"$ref":"#/definitions/t"}}},
                    "$ref":"#/definitions/t"})",
                "[[],[[],[[]]]]", "[1,[1],[[],[[2]]]]"}));

TEST(QuickSchema, KnowsWhatItDoesNotKnow) {
  for (const char* schema :
       {R"({"pattern":"a"})", R"({"oneOf":[{}]})", R"({"const":1})", R"({"enum":["a",1.5]})",
        R"({"minLength":2})", R"({"items":[{}]})", R"({"type":"whole"})", R"({"then":{}})",
        R"({"$ref":"other.json"})", R"({"$ref":"#/definitions/none"})", "[]", "true",
        R"({"properties":{"a":{"properties":{"b":{"format":"x"}}}}})"})
    EXPECT_FALSE(QuickSchema::compile(json::parse(schema))) << schema;
}

/// Random damage to a document, the same for the same seed.
class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  json of(json document) {
    for (std::size_t count = 1 + below(2); count > 0; --count) {
      std::vector<json*> places;
      collect(document, places);
      json& place = *places[below(places.size())];
      const json other = *places[below(places.size())];
      switch (below(4)) {
        case 0:
          place = value();
          break;
        case 1:
          place = other;
          break;
        case 2:
          remove_part(place);
          break;
        default:
          add_part(place, below(2) == 0 ? value() : other);
      }
    }
    return document;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  json value() {
    static const json all = json::parse(
        R"([null,true,false,"","x","ok","incorrect","failed","higher","trace",-1,0,1,2,1.5,-0.5,1.0,
            1e300,[],[1],["x"],[0.5,0.6],[null],{},{"x":1},{"x":"y"},{"value":1}])");
    return all[below(all.size())];
  }

  static void collect(json& value, std::vector<json*>& places) {
    places.push_back(&value);
    if (!value.is_structured()) return;
    std::size_t taken = 0;
    constexpr std::size_t most = 40;  // of a list: else nearly all places are samples
    for (json& inner : value)
      if (value.is_object() || taken++ < most) collect(inner, places);
  }

  void remove_part(json& place) {
    if (!place.is_structured() || place.empty()) return;
    auto part = place.begin();
    std::advance(part, below(place.size()));
    place.erase(part);
  }

  void add_part(json& place, const json& part) {
    static const char* names[] = {"published", "citation", "printed", "energy_j", "extra", "note"};
    if (place.is_array()) place.push_back(part);
    if (place.is_object()) place[names[below(std::size(names))]] = part;
  }

  std::mt19937 random_;
};

struct Shipped {
  std::string schema, definition;
  std::vector<json> documents;
};

std::vector<json> documents_in(const fs::path& folder, const std::string& kind) {
  std::vector<json> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    json document = read_json(entry.path());
    if (document.is_object() && document.value("schema", "").starts_with("assay-" + kind + "/"))
      found.push_back(std::move(document));
  }
  return found;
}

std::vector<Shipped> shipped() {
  std::vector<Shipped> all;
  Shipped rows{"result", "row", {}};
  std::vector<json> results = documents_in("tests/golden", "result");
  for (json& result : results) {
    json& of_result = result["rows"];
    for (const json& row : of_result) rows.documents.push_back(row);
    constexpr std::size_t most = 3;  // else nearly all damage is in rows, which are a kind above
    if (of_result.size() > most)
      of_result.erase(of_result.begin() + static_cast<std::ptrdiff_t>(most), of_result.end());
  }
  for (const json& result : documents_in(data_folder("results-schema") / "baselines", "result"))
    rows.documents.push_back(result["rows"][result["rows"].size() / 2]);
  all.push_back(std::move(rows));
  all.push_back({"result", "", std::move(results)});
  for (const char* kind : {"suite", "criteria", "site"})
    all.push_back({kind, "", documents_in(data_folder("suites"), kind)});
  all.push_back({"launcher", "", documents_in(data_folder("scripts"), "launcher")});
  return all;
}

TEST(QuickSchema, IsAsStrictAsValijson) {
  Damage damage(1);
  for (const Shipped& kind : shipped()) {
    json schema = read_json(data_folder("results-schema") / (kind.schema + ".schema.json"));
    if (!kind.definition.empty()) schema["$ref"] = "#/definitions/" + kind.definition;
    const test::ValijsonSchema valijson(schema);
    const auto quick = QuickSchema::compile(schema);
    if (!quick) {
      EXPECT_NE(kind.schema, "result") << "its schema has a keyword that the quick check lacks";
      continue;
    }
    ASSERT_FALSE(kind.documents.empty()) << kind.schema;
    std::size_t valid = 0, invalid = 0;
    const int rounds = kind.definition == "row" ? 3000 : 1000;  // rows have most keywords
    for (int round = 0; round < rounds; ++round) {
      const json& original =
          kind.documents[static_cast<std::size_t>(round) % kind.documents.size()];
      const json document = damage.of(original);
      const bool slow = valijson.accepts(document);
      ASSERT_EQ(quick->accepts(document), slow) << kind.schema << "\n" << document.dump(1);
      ++(slow ? valid : invalid);
    }
    EXPECT_GT(valid, 50U) << kind.schema;
    EXPECT_GT(invalid, 200U) << kind.schema;
    for (const json& original : kind.documents) EXPECT_TRUE(quick->accepts(original));
  }
}

}  // namespace test_quick_schema
}  // namespace assay
