#include "core/base/numbers.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/program/options.hpp"
#include "fake_benchmark.hpp"

namespace assay {
namespace test_numbers {

TEST(Numbers, SecondsArePositiveFiniteAndInRange) {
  EXPECT_EQ(seconds_number("--s", "2.5"), 2.5);
  EXPECT_EQ(seconds_number("--s", "1e-3"), 1e-3);
  for (const char* text : {"", "nan", "inf", "-inf", "0", "-1", "1e400", "1e-400", "1e10", "2s",
                           " 2", "2 ", "+2", "0x10", "1,5"})
    EXPECT_THROW(seconds_number("--s", text), InputError) << text;
}

TEST(Numbers, WholeNumbersNeitherWrapNorRound) {
  EXPECT_EQ(whole_number("--n", "18446744073709551615", 0, UINT64_MAX), UINT64_MAX);
  for (const char* text : {"", "-1", "1.5", "1e3", "18446744073709551616", "two", "+1", " 1"})
    EXPECT_THROW(whole_number("--n", text, 0, UINT64_MAX), InputError) << text;
  EXPECT_THROW(whole_number("--n", "0", 1, 9), InputError);
  EXPECT_THROW(whole_number("--n", "10", 1, 9), InputError);
}

TEST(Numbers, SizesHaveUnitsOf1024) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  EXPECT_EQ(size_number("--bytes", "0", most), 0);
  EXPECT_EQ(size_number("--bytes", "400000", most), 400000);
  EXPECT_EQ(size_number("--bytes", "8K", most), 8192);
  EXPECT_EQ(size_number("--bytes", "8KiB", most), 8192);
  EXPECT_EQ(size_number("--bytes", "64M", most), 64 << 20);
  EXPECT_EQ(size_number("--bytes", "2GiB", most), std::int64_t{2} << 30);
  EXPECT_EQ(size_number("--bytes", "1024T", most), most);
  for (const char* text : {"", "K", "iB", "8iB", "8KB", "8k", "-8", "+8", "8.5K", "8 K", "1025T",
                           "99999999999999999999", "8KK"})
    EXPECT_THROW(size_number("--bytes", text, most), InputError) << text;
}

TEST(Numbers, ARangeOfSizesGrowsByItsFactor) {
  using Sizes = std::vector<std::int64_t>;
  constexpr std::int64_t most = std::int64_t{1} << 50;
  EXPECT_EQ(size_range("--bytes", "8K", most), Sizes{8192});
  EXPECT_EQ(size_range("--bytes", "8:64:2", most), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(size_range("--bytes", "1K:3K:2", most), (Sizes{1024, 2048}));
  EXPECT_EQ(size_range("--bytes", "7:7:9", most), Sizes{7});
  EXPECT_EQ(size_range("--bytes", "1:1024T:2", most).size(), 51u);
  for (const char* text : {"8:64", "8:64:2:2", "0:8:2", "64:8:2", "8:64:1", "8:64:0", "8:64:-2",
                           "8:64:x", "8::2", ":", "8:64:99999999999999999999"})
    EXPECT_THROW(size_range("--bytes", text, most), InputError) << text;
}

TEST(Numbers, ParsingTakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number("-3e-5"), -3e-5);
  EXPECT_EQ(parse_number("08"), 8);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "1,5", "=1+1"})
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<int>("-7"), -7);
  for (const char* text : {"", "7.5", "2147483648", "7x"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<unsigned>("-7"), std::nullopt);
}

TEST(Numbers, LimitsOfARangeBelongToIt) {
  EXPECT_EQ(number_between("--tolerance", "0", 0, 10), 0);
  EXPECT_EQ(number_between("--tolerance", "10", 0, 10), 10);
  for (const char* text : {"", "-1", "10.5", "nan", "inf", "2s"})
    EXPECT_THROW(number_between("--tolerance", text, 0, 10), InputError) << text;
}

/// The answer of a benchmark to these words.
std::string refusal(std::vector<const char*> words) {
  words.insert(words.begin(), "assay-conv");
  int exit = -1;
  try {
    parse_benchmark_options(testing_fakes::FakeBenchmark(), static_cast<int>(words.size()),
                            words.data(), exit);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Numbers, BenchmarksRefuseWhatIsNone) {
  const std::vector<std::vector<const char*>> all = {
      {"--max-time", "nan"},       {"--max-time", "inf"},    {"--precision-target", "nan"},
      {"--precision-target", "2"}, {"--seed", "-1"},         {"--seed", "18446744073709551616"},
      {"--min-samples", "0"},      {"--min-samples", "1.5"}, {"--reference-budget", "-inf"},
      {"--launch", "-1"}};
  for (const auto& words : all) {
    const std::string told = refusal(words);
    EXPECT_TRUE(told.starts_with(std::string(words[0]) + " '" + words[1] + "' is not a ")) << told;
  }
  int exit = -1;
  const char* words[] = {"assay-conv", "--seed", "7", "--max-time", "0.5", "--min-samples", "3"};
  const RunRequest request =
      parse_benchmark_options(testing_fakes::FakeBenchmark(), 7, words, exit);
  EXPECT_EQ(request.seed, 7u);
  EXPECT_EQ(request.timing.max_time, 0.5);
  EXPECT_EQ(request.timing.min_samples, 3);
  EXPECT_TRUE(request.max_time_given);
  EXPECT_FALSE(request.precision_target_given);
}

TEST(Numbers, WhatIsLeftOutIsTold) {
  EXPECT_EQ(refusal({"--direction"}), "--direction needs a value. Use --direction NAME,....");
  EXPECT_EQ(refusal({"--seed"}), "--seed needs a value. Use --seed N.");
  EXPECT_EQ(refusal({"--seed", "1", "--seed", "2"}),
            "--seed was given more than once (it has one value). Give it once.");
}

TEST(Hash, IsOfTheContentAndItsKind) {
  const auto a = nlohmann::json::parse(R"({"a": 1, "b": [2]})");
  const auto b = nlohmann::json::parse(R"({"b":[2],"a":1})");
  EXPECT_EQ(content_hash("suite", a), content_hash("suite", b));
  EXPECT_NE(content_hash("suite", a), content_hash("hardware", a));
  EXPECT_NE(content_hash("suite", a), content_hash("suite", nlohmann::json(1)));
}

}  // namespace test_numbers
}  // namespace assay
