// `assay table --layers`: where the time of a network's step is.
#include "analysis/table/table.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/layers.hpp"
#include "tests/support/rows.hpp"

namespace test_layer_table {

using namespace assay;
using nlohmann::json;

LayerTime layer(const std::string& name, const std::string& operation, int runs, double seconds,
                double flops, double bytes) {
  LayerTime time;
  time.layer = name;
  time.direction = "forward";
  time.operation = operation;
  time.backend = "native";
  time.execution.algorithm = "direct";
  time.runs = runs;
  time.seconds = seconds;
  time.flops = flops;
  time.bytes = bytes;
  return time;
}

/// A step of 2 s: 0.4 s of convolutions, twice, and 0.6 s of a normalization.
json network(double seconds = 2, int launch = 0) {
  json row = test::row("ok", seconds, launch);
  row["layers"] = make_layers({layer("conv1", "conv", 2, 0.1, 4e9, 1e6),
                               layer("conv2", "conv", 2, 0.1 * seconds, 8e9, 1e6),
                               layer("bn1", "norm", 1, 0.6, 0, 3e9)});
  return row;
}

std::string table(const std::vector<json>& rows, bool markdown = false) {
  TableOptions options;
  options.markdown = markdown;
  return render_layer_table({{"", test::result(rows)}}, options);
}

/// The cells of the first line that begins with `name`.
std::vector<std::string> cells(const std::string& text, const std::string& name) {
  std::vector<std::string> words;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    for (const std::string& part : split(line, ' '))
      if (!part.empty()) words.push_back(part);
    return words;
  }
  return words;
}

using Cells = std::vector<std::string>;

TEST(LayerTable, TheLongestFirstWithShareAndRate) {
  const std::string text = table({network()});
  // Two layers of 0.2 s and 0.4 s: 24 GFLOP in 0.6 s.
  EXPECT_EQ(cells(text, "conv forward "),
            (Cells{"conv", "forward", "2", "600", "ms", "50.0", "%", "40.0", "GFLOP/s", "-", "-"}));
  EXPECT_EQ(cells(text, "bn1"), (Cells{"bn1", "norm", "forward", "600", "ms", "50.0", "%", "5.00",
                                       "GB/s", "-", "-", "native", "direct"}));
  EXPECT_LT(text.find("bn1"), text.find("conv2"));
  EXPECT_LT(text.find("conv2"), text.find("conv1"));
  EXPECT_NE(text.find("take 1.20 s together, 60.0 %"), std::string::npos) << text;
  EXPECT_NE(table({network()}, true).find("differs from the median run by more than 10 %"),
            std::string::npos);
  EXPECT_NE(text.find("No ceilings: no ceiling was measured"), std::string::npos) << text;
}

TEST(LayerTable, TellsWhatTheRowSaysOfItsLayers) {
  json row = network(1.25);  // 1.05 s of 1.25 s
  const std::string reason = "the driver cannot hold the GPU back";
  row["layers"][1]["host_included"] = reason;
  row["layers_sum"] = {{"seconds", 1.05}, {"fraction", 0.84}, {"agrees", true}};
  const std::string text = table({row}, true);
  EXPECT_EQ(text.find("differs from the median run"), std::string::npos) << text;
  EXPECT_NE(text.find("The times of 1 of 3 layers may contain the host's: " + reason),
            std::string::npos)
      << text;
}

TEST(LayerTable, ShowsThePartOfTheCeiling) {
  json row = network();
  row["ceiling"] = {
      {"flops_per_s", 8e10}, {"bytes_per_s", nullptr}, {"fraction", 0.01}, {"bound_by", "compute"}};
  for (json& layer : row["layers"])
    layer["ceiling"] = {{"flops_per_s", 8e10},
                        {"bytes_per_s", 1e10},
                        {"fraction", layer["layer"] == "conv1" ? 0.5 : 0.25},
                        {"bound_by", layer["layer"] == "bn1" ? "memory" : "compute"}};
  const std::string text = table({row});
  const Cells conv = cells(text, "conv forward "), norm = cells(text, "bn1");
  // (0.5 * 0.2 s + 0.25 * 0.4 s) / 0.6 s
  ASSERT_EQ(conv.size(), 12) << text;
  EXPECT_EQ(conv[9], "33.3");
  EXPECT_EQ(conv[11], "compute");
  ASSERT_EQ(norm.size(), 14) << text;
  EXPECT_EQ(norm[9], "25.0");
  EXPECT_EQ(norm[11], "memory");
}

TEST(LayerTable, IsOfTheLaunchInTheMiddle) {
  const std::string text = table({network(6, 0), network(2, 1), network(4, 2)});
  // conv2 took 2 x 0.1 x 4 s in the launch whose step took 4 s.
  EXPECT_EQ(cells(text, "conv2")[3], "800") << text;
}

TEST(LayerTable, RowsWithoutLayersHaveNone) {
  EXPECT_THROW(table({test::row("ok", 1)}), InputError);
  EXPECT_THROW(table({network(), test::row("incorrect", 1, 1)}), InputError);  // one series
}

TEST(LayerTable, CsvHasAllDigits) {
  const std::string text = make_csv(make_layer_records({{"", test::result({network()})}}, {}));
  const std::vector<std::string> lines = split(text, '\n');
  ASSERT_GE(lines.size(), 4);
  EXPECT_TRUE(lines[0].starts_with("result,id,launch,layer,direction")) << lines[0];
  EXPECT_NE(lines[1].find("conv1,forward,conv"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("4000000000.0"), std::string::npos) << lines[1];
}

}  // namespace test_layer_table
