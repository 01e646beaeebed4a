#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/ratio.hpp"

namespace assay {
namespace {

using nlohmann::json;

TEST(Ratio, AboveOneTheFirstNamedIsFaster) {
  EXPECT_DOUBLE_EQ(speedup(2, 3), 1.5);
  EXPECT_DOUBLE_EQ(speedup_of(0.8), 1.25);
  const Interval turned = speedup_of(Interval{0.8, 2});
  EXPECT_DOUBLE_EQ(turned.low, 0.5);
  EXPECT_DOUBLE_EQ(turned.high, 1.25);
  EXPECT_EQ(speedup_json(json{0.5, 2.0}), json({0.5, 2.0}));
  EXPECT_EQ(speedup_json(json{0.8, 2.0}), json({0.5, 1.25}));
  EXPECT_EQ(speedup_json(0.5), 2.0);
  for (const json& none : {json(), json(0.0), json{0.0, 1.0}})
    EXPECT_TRUE(speedup_json(none).is_null()) << none;
}

TEST(Ratio, TheHeaderSaysWhoOverWhom) {
  EXPECT_EQ(over("a", "b"), "a over b");
  EXPECT_EQ(speedup_header("a", "b"), "speedup: a over b, above 1 a is faster");
}

}  // namespace
}  // namespace assay
