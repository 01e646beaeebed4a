#include "core/api/random.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/api/tensor_values.hpp"

namespace assay {
namespace test_random {

using Kind = Values::Kind;

std::vector<double> draw(const Values& values, std::int64_t first, std::size_t count) {
  std::vector<double> out(count);
  values.fill(first, out);
  return out;
}

/// Chi-squared of counts against equal expectation, below its 99.99 % quantile.
bool uniform(const std::vector<std::size_t>& counts) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double chi = 0;
  for (const std::size_t count : counts) chi += (count - expected) * (count - expected) / expected;
  const boost::math::chi_squared distribution(static_cast<double>(counts.size() - 1));
  return chi < boost::math::quantile(distribution, 0.9999);
}

TEST(Philox, GivesRandom123sPublishedVectors) {  // examples/kat_vectors of Random123
  const std::array<std::array<std::uint32_t, 10>, 3> known = {{
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
       0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1},
  }};
  for (const auto& k : known) {
    const auto out = r123::Philox4x32()({{k[0], k[1], k[2], k[3]}}, {{k[4], k[5]}});
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], k[6 + i]);
  }
}

TEST(Values, FollowTheDocumentedScheme) {
  // docs/method.md: key = Philox({seed, FNV-1a(name)}, "assay"), block = index / 4, one word a
  // value.
  const std::string name = "weights";
  const std::uint64_t seed = 0x123456789abcdefu;
  std::uint64_t fnv = 0xcbf29ce484222325u;
  for (const char c : name) fnv = (fnv ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  const auto lo = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto hi = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  const auto key =
      r123::Philox4x32()({{lo(seed), hi(seed), lo(fnv), hi(fnv)}}, {{0x61737361, 0x79}});
  const Values fp32(Kind::mantissa, seed, name, DataType::fp32, 0);
  const Values s8(Kind::integer, seed, name, DataType::s8, 5);
  for (std::uint64_t index :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1} << 35}) {
    const auto words =
        r123::Philox4x32()({{lo(index / 4), hi(index / 4), 0, 0}}, {{key[0], key[1]}});
    const std::uint32_t word = words[index % 4];
    const double magnitude = 0x1p-10 + ((word & 0x7fffffffu) + 0.5) * (1019.0 / 1024 * 0x1p-31);
    const double want = static_cast<float>(word >> 31 != 0 ? -magnitude : magnitude);
    EXPECT_EQ(fp32(static_cast<std::int64_t>(index)), want);
    EXPECT_EQ(s8(static_cast<std::int64_t>(index)),
              -5 + static_cast<double>((std::uint64_t{word} * 11) >> 32));
  }
}

class EveryType : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Values, EveryType,
                         testing::Values(DataType::fp64, DataType::fp32, DataType::bf16,
                                         DataType::fp16, DataType::s32, DataType::s8, DataType::u8,
                                         DataType::fp8_e4m3, DataType::fp8_e5m2),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(EveryType, FillEqualsOneByOneAtEveryOffset) {
  for (const Kind kind : {Kind::mantissa, Kind::integer}) {
    const Values values(kind, 7, "src", GetParam(), 3);
    for (const std::int64_t first : {0, 1, 2, 3, 4, 5, 255, 256, 257, 100003}) {
      for (const std::size_t count : {1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 300, 1030}) {
        const std::vector<double> out = draw(values, first, count);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(out[i], values(first + static_cast<std::int64_t>(i)))
              << first << " + " << i << " of " << count;
        }
      }
    }
    const std::int64_t far = (std::int64_t{1} << 40) + 3;
    EXPECT_EQ(draw(values, far, 9)[8], values(far + 8));
  }
}

TEST_P(EveryType, ValuesAreOfTheStorageTypeAndWithinBounds) {
  const DataType type = GetParam();
  const int magnitude = type == DataType::u8 ? 127 : 100;
  const Values values(Kind::mantissa, 3, "dst", type, magnitude);
  double least = 1e9, most = -1e9;
  for (const double v : draw(values, 0, 400000)) {
    ASSERT_EQ(round_to(type, v), v);
    least = std::min(least, v);
    most = std::max(most, v);
    if (is_integer(type)) continue;
    ASSERT_LT(std::abs(v), 1);
    ASSERT_GE(std::abs(v), size_of(type) == 1 ? 0x1p-6 : 0x1p-10);
  }
  if (type == DataType::u8) {
    EXPECT_EQ(least, 0);
    EXPECT_EQ(most, 255);
  } else if (is_integer(type)) {
    EXPECT_EQ(least, -100);
    EXPECT_EQ(most, 100);
  } else {
    const double last = size_of(type) == 1 ? 0.87 : 0.99;
    EXPECT_LT(least, -last);
    EXPECT_GT(most, last);
  }
}

TEST_P(EveryType, SmallIntegersAreUniformWithBothEnds) {
  const DataType type = GetParam();
  const Values values(Kind::integer, 11, "x", type, 4);
  const int low = type == DataType::u8 ? 0 : -4;
  std::vector<std::size_t> counts(static_cast<std::size_t>(4 - low + 1));
  for (const double v : draw(values, 0, 90000)) {
    ASSERT_EQ(v, std::floor(v));
    ASSERT_GE(v, low);
    ASSERT_LE(v, 4);
    ++counts[static_cast<std::size_t>(v - low)];
  }
  EXPECT_TRUE(uniform(counts));
}

TEST(Values, FullSignificandsAreUniform) {
  for (const DataType type : {DataType::fp64, DataType::fp32}) {
    std::vector<std::size_t> counts(64);
    for (const double v : draw(Values(Kind::mantissa, 5, "u", type, 0), 0, 640000)) {
      // The magnitude is uniform between 2^-10 and 1 - 2^-8 (fp64: to 1); sort by sign and place.
      const double top = type == DataType::fp64 ? 1 : 1 - 0x1p-8;
      const double place = (std::abs(v) - 0x1p-10) / (top - 0x1p-10);
      if (type == DataType::fp64 && std::abs(v) < 0x1p-9)
        continue;  // the lowest binade holds twice the share
      ++counts[std::min<std::size_t>(31, static_cast<std::size_t>(place * 32)) + (v < 0 ? 32 : 0)];
    }
    if (type == DataType::fp64) counts[0] = counts[1], counts[32] = counts[33];
    EXPECT_TRUE(uniform(counts)) << name(type);
  }
}

/// Frequency of each of the last `bits` bits of the significand of `type`.
TEST(Values, EverySignificandBitIsRandom) {
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::bf16, DataType::fp16}) {
    const int bits = static_cast<int>(std::lround(-std::log2(unit_roundoff(type))));
    const std::size_t n = 100000;
    std::vector<std::size_t> set(static_cast<std::size_t>(bits - 1));
    for (const double v : draw(Values(Kind::mantissa, 9, "bits", type, 0), 0, n)) {
      const auto fraction = std::bit_cast<std::uint64_t>(v) << 12 >> 12;
      ASSERT_EQ(fraction << (bits - 1) << 12, 0u);  // nothing below the type's last place
      for (std::size_t b = 0; b < set.size(); ++b)
        set[b] += (fraction >> (53 - bits + static_cast<int>(b))) & 1;
    }
    // The highest bits follow the uniform law (in a binade they are fair, too); five sigma.
    for (const std::size_t count : set)
      EXPECT_NEAR(static_cast<double>(count) / n, 0.5, 5 * 0.5 / std::sqrt(n)) << name(type);
  }
}

/// All normal numbers from 2^-6 to below 15/16 occur, as often as the interval that is rounded to
/// each is wide.
TEST(Values, OfEightBitsAreAllNumbersBelowOne) {
  for (const DataType type : {DataType::fp8_e4m3, DataType::fp8_e5m2}) {
    const int n = 400000;
    std::map<double, int> seen;
    for (const double v : draw(Values(Kind::mantissa, 21, "fp8", type, 0), 0, n))
      ++seen[std::abs(v)];
    const int in_binade = type == DataType::fp8_e4m3 ? 8 : 4;
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(6 * in_binade)) << name(type);
    for (auto at = std::next(seen.begin()); std::next(at) != seen.end(); ++at) {
      const double width = (std::next(at)->first - std::prev(at)->first) / 2,
                   want = n * width / (15.0 / 16 - 0x1p-6);
      EXPECT_NEAR(at->second, want, 6 * std::sqrt(want)) << name(type) << " " << at->first;
    }
  }
}

TEST(Values, ATruncatedTypeWouldShow) {
  // The purpose of full significands: rounding the data to tf32 (11 bits) or bf16 must change
  // nearly every value.
  std::size_t same_bf16 = 0, same_tf32 = 0;
  const std::vector<double> data =
      draw(Values(Kind::mantissa, 1, "src", DataType::fp32, 0), 0, 100000);
  for (const double v : data) {
    same_bf16 += round_to(DataType::bf16, v) == v;
    same_tf32 += round_to(DataType::fp16, v) == v;  // the same significand as tf32
  }
  EXPECT_LT(same_bf16, 20u);
  EXPECT_LT(same_tf32, 60u);
}

TEST(Values, SeedsAndStreamsAreIndependent) {
  const std::vector<double> base =
      draw(Values(Kind::mantissa, 1, "src", DataType::fp32, 0), 0, 4096);
  for (const auto& [seed, stream] :
       std::vector<std::pair<std::uint64_t, std::string>>{{2, "src"},
                                                          {1, "dst"},
                                                          {1, "src#1"},
                                                          {0, "src"},
                                                          {1, ""},
                                                          {std::uint64_t{1} << 32, "src"}}) {
    const std::vector<double> other =
        draw(Values(Kind::mantissa, seed, stream, DataType::fp32, 0), 0, 4096);
    double product = 0;
    for (std::size_t i = 0; i < base.size(); ++i) product += base[i] * other[i];
    EXPECT_LT(std::abs(product), 5 * std::sqrt(4096.0) / 3)
        << seed << stream;  // variance of a product: 1/9
    EXPECT_NE(base, other);
  }
  EXPECT_EQ(base, draw(Values(Kind::mantissa, 1, "src", DataType::fp32, 0), 0, 4096));
}

TEST(Values, RefuseIntegersThatTheTypeCannotHold) {
  EXPECT_THROW(Values(Kind::integer, 1, "x", DataType::bf16, 257), std::invalid_argument);
  EXPECT_NO_THROW(Values(Kind::integer, 1, "x", DataType::bf16, 256));
  EXPECT_THROW(Values(Kind::integer, 1, "x", DataType::s8, 128), std::invalid_argument);
  EXPECT_THROW(Values(Kind::mantissa, 1, "x", DataType::u8, 128), std::invalid_argument);
  EXPECT_THROW(Values(Kind::integer, 1, "x", DataType::fp32, -1), std::invalid_argument);
  EXPECT_NO_THROW(Values(Kind::integer, 1, "x", DataType::s32, 2147483647));
}

TEST(Shuffle, IsAPermutationTheSameEverywhere) {
  std::vector<std::size_t> order(10);
  shuffle(order, 42);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 2, 7, 5, 6, 4, 8, 3, 9, 1}));
  std::set<std::size_t> all(order.begin(), order.end());
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(*all.rbegin(), 9u);
  shuffle({}, 1);
  std::vector<std::size_t> other(10);
  shuffle(other, 43);
  EXPECT_NE(order, other);
}

TEST(Shuffle, EveryOrderIsEquallyLikely) {
  std::vector<std::size_t> counts(24);
  for (std::uint64_t seed = 0; seed < 24000; ++seed) {
    std::vector<std::size_t> order(4);
    shuffle(order, seed);
    std::size_t code = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      std::size_t smaller = 0;
      for (std::size_t j = i + 1; j < 4; ++j) smaller += order[j] < order[i];
      code = code * (4 - i) + smaller;
    }
    ++counts[code];
  }
  EXPECT_TRUE(uniform(counts));
}

TEST(Values, FixedPointSumsAreExactInAnyOrder) {
  for (const auto& [type, bits] : {std::pair{DataType::fp32, 22}, std::pair{DataType::bf16, 6},
                                   std::pair{DataType::fp16, 9}, std::pair{DataType::fp64, 51}}) {
    const Values values(Values::Kind::fixed, 7, "send", type, bits);
    std::vector<double> all(1000);
    values.fill(0, all);
    int wide = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i], values(static_cast<std::int64_t>(i)));
      EXPECT_EQ(all[i], round_to(type, all[i]));
      EXPECT_LT(std::abs(all[i]), 1);
      const double scaled = std::ldexp(all[i], bits);
      EXPECT_EQ(scaled, std::rint(scaled)) << "a multiple of 2^-bits";
      wide += std::fmod(scaled, 2) != 0;
    }
    EXPECT_GT(wide, 400) << "the last bit is used";
    // Four of them, added in two orders with a rounding to the type after each step.
    for (std::size_t i = 0; i + 4 <= all.size(); i += 4) {
      double forward = 0, backward = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        forward = round_to(type, forward + all[i + j]);
        backward = round_to(type, backward + all[i + 3 - j]);
      }
      EXPECT_EQ(forward, backward);
    }
  }
  EXPECT_THROW(Values(Values::Kind::fixed, 1, "x", DataType::bf16, 9), std::invalid_argument);
  EXPECT_THROW(Values(Values::Kind::fixed, 1, "x", DataType::s32, 4), std::invalid_argument);
  EXPECT_THROW(Values(Values::Kind::fixed, 1, "x", DataType::fp32, 0), std::invalid_argument);
}

TEST(Values, AScaleIsAPowerOfTwo) {
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::bf16, DataType::fp16}) {
    const Values plain(Kind::mantissa, 3, "weights", type, 0), small = plain.scaled(-5);
    const std::vector<double> all = draw(small, 3, 1000);
    for (std::int64_t i = 0; i < 1000; ++i) {
      const double value = all[static_cast<std::size_t>(i)];
      EXPECT_EQ(value, small(3 + i));
      EXPECT_EQ(value, round_to(type, plain(3 + i) / 32)) << name(type);
    }
  }
  EXPECT_THROW(Values(Kind::integer, 1, "x", DataType::fp32, 3).scaled(-1), std::invalid_argument);
  EXPECT_THROW(Values(Kind::mantissa, 1, "x", DataType::s8, 3).scaled(-1), std::invalid_argument);
}

void expect_stored_values(const Values& stored) {
  EXPECT_FALSE(stored.random());
  EXPECT_EQ(stored(2), 4);
  std::vector<double> part(3);
  stored.fill(2, part);
  EXPECT_EQ(part, (std::vector<double>{4, 1, 5}));
  EXPECT_THROW(stored.fill(3, part), std::out_of_range);
  EXPECT_THROW(stored(5), std::out_of_range);
  EXPECT_THROW(stored.of_rank(1), std::invalid_argument);
  EXPECT_THROW(stored.scaled(1), std::invalid_argument);
}

TEST(Values, StoredOnesAreReadBack) {
  const std::vector<double> data{3, 1, 4, 1, 5};
  expect_stored_values(Values(data));
  HostDevice host;
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::bf16, DataType::s32}) {
    const auto tensor = host.allocate(plain_tensor("t", Role::input, type, {5}));
    host.put(*tensor, [&](std::int64_t first, std::span<double> out) {
      std::copy_n(data.begin() + first, out.size(), out.begin());
    });
    const Values stored(std::make_shared<const TensorValues>(host, *tensor));
    host.fill(*tensor, 9);
    expect_stored_values(stored);
  }
}

TEST(Values, RowsThatAreNotKeptAreZero) {
  for (const DataType type : {DataType::fp32, DataType::fp64}) {
    const Values values(Values::Kind::mantissa, 3, "t", type, 0);
    const std::int64_t kept[] = {1, 4};
    const Values part = values.in_rows(7, 5, kept);
    EXPECT_TRUE(values.keeps(0));
    EXPECT_FALSE(part.keeps(0));
    EXPECT_TRUE(part.keeps(4));
    for (const std::int64_t first : {0, 3, 31}) {
      std::vector<double> some(100);
      part.fill(first, some);
      for (std::int64_t i = 0; i < 100; ++i) {
        const std::int64_t at = first + i, row = at / 7 % 5;
        const double right = row == 1 || row == 4 ? values(at) : 0;
        EXPECT_EQ(some[static_cast<std::size_t>(i)], right);
        EXPECT_EQ(part(at), right);
      }
    }
    const std::int64_t none[] = {5};
    EXPECT_THROW(values.in_rows(7, 5, none), std::out_of_range);
  }
}

TEST(Values, MagnitudesLoseTheirSignsAlone) {
  const Values values(Values::Kind::mantissa, 3, "t", DataType::fp32, 0);
  const Values magnitudes = values.magnitudes();
  std::vector<double> some(100);
  magnitudes.fill(5, some);
  int negative = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(some[static_cast<std::size_t>(i)], std::abs(values(i + 5)));
    EXPECT_EQ(magnitudes(i + 5), std::abs(values(i + 5)));
    negative += values(i + 5) < 0 ? 1 : 0;
  }
  EXPECT_GT(negative, 20);
}

}  // namespace test_random
}  // namespace assay
