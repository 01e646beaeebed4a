#include "core/program/settings_reader.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace assay {
namespace test_settings_reader {

template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(SettingsReader, ReadsNumbersAndWritesTheirCanonicalText) {
  Settings settings{{"batch", "007"}, {"step", "0.50"}, {"rate", "1e0"}, {"mode", "cold"}};
  SettingsReader reader(settings);
  int batch = 0;
  double step = 0, rate = 0;
  reader.whole("batch", batch, 1, 10);
  reader.number("step", step, 0, 1);
  reader.positive("rate", rate, "rate", 10);
  EXPECT_EQ(batch, 7);
  EXPECT_EQ(step, 0.5);
  EXPECT_EQ(rate, 1);
  EXPECT_EQ(settings, (Settings{{"batch", "7"}, {"step", "0.5"}, {"rate", "1"}, {"mode", "cold"}}));
  EXPECT_TRUE(reader.is("mode", "cold"));
  reader.set("batch", batch, 0);
  reader.set("step", step, 0);
  EXPECT_EQ(batch, 0);
  EXPECT_EQ(settings.at("batch") + settings.at("step"), "00");
}

TEST(SettingsReader, ARefusalNamesTheFlag) {
  Settings settings{{"max_bad_samples", "x"}, {"rate", "-1"}};
  SettingsReader reader(settings);
  int number = 0;
  double rate = 0;
  EXPECT_TRUE(refusal([&] {
                reader.whole("max_bad_samples", number, 0, 9);
              }).starts_with("--max-bad-samples"));
  EXPECT_TRUE(refusal([&] { reader.positive("rate", rate, "rate", 1); }).starts_with("--rate"));
  EXPECT_TRUE(refusal([&] { reader.number("rate", rate, 0, 1); }).starts_with("--rate"));
}

}  // namespace test_settings_reader
}  // namespace assay
