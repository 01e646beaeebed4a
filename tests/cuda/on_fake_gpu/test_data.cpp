// Inputs that the GPU makes and outputs that it reads, beside those of the host, on a fake GPU that
// runs our kernels' threads on the host.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "assay/test_paths.hpp"
#include "core/api/layout.hpp"
#include "core/program/plugins.hpp"
#include "fake_gpu.hpp"

namespace assay {
namespace test_data {

using fake_gpu::crossed;
using Kind = Values::Kind;
using Dims = std::vector<std::int64_t>;

constexpr DataType types[] = {DataType::fp64, DataType::fp32,     DataType::bf16,
                              DataType::fp16, DataType::s32,      DataType::s8,
                              DataType::u8,   DataType::fp8_e4m3, DataType::fp8_e5m2};

Device& gpu() {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static Device* const device =
      std::get<Device*>(std::get<Backend*>(plugins.open("cuda"))->device(Options{}));
  return *device;
}

std::int64_t drawn(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

Dims shape(std::mt19937_64& random) {
  Dims dims(static_cast<std::size_t>(drawn(random, 1, 5)));
  for (std::int64_t& extent : dims) extent = drawn(random, 1, dims.size() == 1 ? 5000 : 9);
  return dims;
}

/// GPU memory of a tensor that lies in larger memory.
std::shared_ptr<void> room(std::size_t bytes) {
  const std::shared_ptr<Tensor> owner = gpu().allocate(
      plain_tensor("room", Role::input, DataType::u8, {static_cast<std::int64_t>(bytes)}));
  return {owner, owner->data()};
}

/// Row-major, channels last, blocks of channels with padding, strides with gaps, and pieces in
/// another order with something between them.
std::vector<TensorSpec> specs_of(DataType type, const Dims& dims) {
  std::vector<TensorSpec> specs{plain_tensor("t", Role::input, type, dims)};
  if (dims.size() < 2) return specs;
  const auto add = [&](Layout layout) {
    TensorSpec spec = specs.front();
    spec.bytes = static_cast<std::size_t>(layout.elements) * size_of(type);
    spec.layout = std::make_shared<const Layout>(std::move(layout));
    specs.push_back(spec);
  };
  add(channels_last(dims));
  add(channel_blocks(dims, 4));
  Layout gaps = channels_last(dims);
  for (Split& split : gaps.splits) split.outer *= 3;
  gaps.elements *= 3;
  add(gaps);
  Layout cut = channels_last(dims);
  const std::int64_t length = cut.elements / dims[0] + 2;
  for (std::int64_t i = dims[0]; i-- > 0;) cut.pieces.push_back(i * length);
  add(cut);
  specs.back().memory = [bytes = static_cast<std::size_t>(length * dims[0]) *
                                 size_of(type)](std::size_t) { return room(bytes); };
  return specs;
}

std::vector<std::byte> bytes_of(Tensor& tensor) {
  const TensorSpec& spec = tensor.spec();
  std::size_t bytes = spec.bytes;
  if (spec.layout && !spec.layout->pieces.empty())
    bytes += 2 * spec.layout->pieces.size() * size_of(spec.type);
  std::vector<std::byte> all(bytes);
  gpu().copy(all.data(), tensor.data(), bytes);
  gpu().stream().wait();
  return all;
}

std::vector<Values> values_of(DataType type, std::mt19937_64& random) {
  std::vector<Values> all{Values(Kind::mantissa, random(), "t", type, 100),
                          Values(Kind::integer, random(), "t", type, 3)};
  if (!is_integer(type))
    all.emplace_back(Kind::fixed, random(), "t", type, size_of(type) == 1 ? 3 : 7);
  if (!is_integer(type) && size_of(type) > 1) {
    all.push_back(all.front().scaled(-6));   // fp16: some are subnormal
    all.push_back(all.front().scaled(-16));  // most are
  }
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    all.push_back(all[i].of_rank(5));
    all.push_back(all[i].of_rank(4).in_groups(3));
    all.push_back(all[i].magnitudes());
    const std::int64_t width = drawn(random, 1, 20), rows = drawn(random, 1, 9);
    std::vector<std::int64_t> kept;
    for (std::int64_t row = 0; row < rows; ++row)
      if (random() % 2 == 0) kept.push_back(row);
    all.push_back(all[i].in_rows(width, rows, kept).in_groups(2));
  }
  return all;
}

TEST(DataOnGpu, FillMakesTheBitsOfPut) {
  std::mt19937_64 random(38);
  for (const DataType type : types) {
    // The first use compares the GPU's kernels with the host.
    gpu().fill(*gpu().allocate(plain_tensor("t", Role::input, type, {1})), 1.0);
    for (int round = 0; round < 8; ++round) {
      const Dims dims = shape(random);
      const std::vector<Values> all = values_of(type, random);
      std::size_t at_gpu = 0, number = 0;
      for (const TensorSpec& spec : specs_of(type, dims)) {
        for (const Values& values : all) {
          const auto made = gpu().allocate(spec), put = gpu().allocate(spec);
          const std::size_t before = crossed();
          gpu().fill(*made, values);
          at_gpu += crossed() - before;
          gpu().Device::fill(*put, values);
          ASSERT_EQ(bytes_of(*made), bytes_of(*put)) << name(type) << ", spec " << number;
        }
        ++number;
      }
      // Rows that are kept and beginnings of pieces go to the GPU, but no elements.
      EXPECT_LE(at_gpu, all.size() * number * 128) << dims.size();
    }
  }
}

TEST(DataOnGpu, PoisonIsThatOfPut) {
  std::mt19937_64 random(39);
  for (const DataType type : types)
    for (const double value : {std::nan(""), -2147483648.0, 255.0, 1.5, -0.0})
      for (const TensorSpec& spec : specs_of(type, shape(random))) {
        const auto made = gpu().allocate(spec), put = gpu().allocate(spec);
        gpu().fill(*made, value);
        gpu().Device::fill(*put, value);
        EXPECT_EQ(bytes_of(*made), bytes_of(*put)) << name(type) << " " << value;
      }
}

TEST(DataOnGpu, WhatItDoesNotMakeIsPut) {
  const TensorSpec spec = plain_tensor("t", Role::input, DataType::bf16, {4});
  const auto made = gpu().allocate(spec), put = gpu().allocate(spec);
  for (const Values& values : {Values(std::vector<double>{1, -2, 0.3f, 4}),
                               Values(Kind::mantissa, 1, "t", DataType::fp32, 0)}) {
    gpu().fill(*made, values);
    gpu().Device::fill(*put, values);
    EXPECT_EQ(bytes_of(*made), bytes_of(*put));
  }
}

void expect_equal(const ScanResult& found, const ScanResult& want, double tolerance) {
  EXPECT_EQ(found.elements, want.elements);
  EXPECT_EQ(found.bad, want.bad);
  EXPECT_EQ(found.first_bad, want.first_bad);
  EXPECT_EQ(found.rounding == 0, want.rounding == 0);
  EXPECT_NEAR(found.rounding, want.rounding, 1e-10 * want.rounding);
  EXPECT_NEAR(found.sum, want.sum, tolerance);
}

TEST(DataOnGpu, ScanFindsWhatTheHostFinds) {
  std::mt19937_64 random(40);
  for (const DataType type : types)
    for (int round = 0; round < 20; ++round) {
      const Dims dims = shape(random);
      const ChecksumWeights weights(dims, random());
      for (const TensorSpec& spec : specs_of(type, dims))
        for (const Values& values : values_of(type, random)) {
          const auto tensor = gpu().allocate(spec);
          gpu().fill(*tensor, values);
          std::vector<std::int64_t> indices;
          for (std::int64_t i = 0; i < spec.elements(); i += drawn(random, 1, 300))
            indices.push_back(i);
          double sizes = 0;
          for (std::int64_t i = 0; i < spec.elements(); ++i) {
            double weight = 0;
            weights.fill(i, {&weight, 1});
            sizes += std::abs(weight * values(i));
          }
          const bool exact = values(0) == std::rint(values(0)) && is_integer(type);
          const double tolerance =
              exact ? 0 : sizes * 0x1p-53 * 2 * static_cast<double>(dims.size() + 64);
          for (const ChecksumWeights* const wanted :
               {&weights, static_cast<const ChecksumWeights*>(nullptr)})
            expect_equal(gpu().scan(*tensor, indices, wanted),
                         gpu().Device::scan(*tensor, indices, wanted), tolerance);
        }
    }
}

/// More elements than lanes have, stages with remainders, and weights of more than one block.
TEST(DataOnGpu, LongTensorsAreScannedWhole) {
  const std::int64_t n = (std::int64_t{1} << 24) + 12345;
  const TensorSpec spec = plain_tensor("t", Role::output, DataType::s8, {n});
  const auto tensor = gpu().allocate(spec);
  const Values values(Kind::integer, 5, "t", DataType::s8, 9);
  gpu().fill(*tensor, values);
  const ChecksumWeights weights(spec.dims, 3);
  const std::vector<std::int64_t> ends{0, 4095, 4096, n - 1};
  const std::size_t before = crossed();
  const ScanResult found = gpu().scan(*tensor, ends, &weights);
  EXPECT_LT(crossed() - before, 20000u) << "tables and elements alone";
  expect_equal(found, gpu().Device::scan(*tensor, ends, &weights), 0);
  EXPECT_EQ(found.elements.back(), values(n - 1));
}

/// Elements least + 2 i + 1, with the signs of their weights; of odd i times `odd`.
void expect_exact_sum(const TensorSpec& spec, double least, double odd) {
  const auto tensor = gpu().allocate(spec);
  const ChecksumWeights weights(spec.dims, 8);
  const auto value = [&](std::int64_t i, double weight) {
    return std::copysign(least + static_cast<double>(2 * i + 1), weight) * (i % 2 == 0 ? 1 : odd);
  };
  gpu().put(*tensor, [&](std::int64_t first, std::span<double> out) {
    weights.fill(first, out);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = value(first + static_cast<std::int64_t>(i), out[i]);
  });
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < spec.elements(); ++i) {
    double weight = 0;
    weights.fill(i, {&weight, 1});
    sum += static_cast<std::int64_t>(weight) * static_cast<std::int64_t>(value(i, weight));
  }
  EXPECT_GT(std::abs(static_cast<double>(sum)), 0x1p53);
  EXPECT_EQ(gpu().scan(*tensor, {}, &weights).sum, static_cast<double>(sum));
}

/// Beyond 2^53: of all stages together, and of each thread while the sum of all is smaller.
TEST(DataOnGpu, SumsOfIntegersAreExact) {
  expect_exact_sum(plain_tensor("t", Role::output, DataType::s32, {64, 60, 5, 9}), 0x1p30, 1);
  expect_exact_sum(plain_tensor("t", Role::output, DataType::fp64, {1000}), 0x1p49, -1);
}

TEST(DataOnGpu, RoundedIntegersWidenTheSumAsOnTheHost) {
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16}) {
    const TensorSpec spec = plain_tensor("t", Role::output, type, {50, 70});
    const auto tensor = gpu().allocate(spec);
    const double most = 1 / unit_roundoff(type);  // the type holds all integers up to here
    const ChecksumWeights weights(spec.dims, 8);
    for (const double size : {most, most * 4}) {
      gpu().put(*tensor, [&](std::int64_t first, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = (first + static_cast<std::int64_t>(i)) % 7 == 3 ? -size : most;
      });
      const ScanResult found = gpu().scan(*tensor, {}, &weights);
      EXPECT_EQ(found.rounding > 0, size > most);
      expect_equal(found, gpu().Device::scan(*tensor, {}, &weights), 0);
    }
  }
}

/// A tensor of integers, but for `changed`.
ScanResult scan_of(const TensorSpec& spec, const std::map<std::int64_t, double>& changed,
                   const ChecksumWeights& weights) {
  const auto tensor = gpu().allocate(spec);
  const Values values(Kind::integer, 7, "t", spec.type, 7);
  gpu().put(*tensor, [&](std::int64_t first, std::span<double> out) {
    values.fill(first, out);
    for (const auto& [index, value] : changed)
      if (index >= first && index < first + static_cast<std::int64_t>(out.size()))
        out[static_cast<std::size_t>(index - first)] = value;
  });
  return gpu().scan(*tensor, {}, &weights);
}

TEST(DataOnGpu, ScanFindsEachFault) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Dims dims{3, 8, 11, 17};
  const ChecksumWeights weights(dims, 4);
  const std::int64_t n = 3 * 8 * 11 * 17;
  for (const DataType type : types)
    for (const TensorSpec& spec : specs_of(type, dims)) {
      const Values values(Kind::integer, 7, "t", type, 7);
      const ScanResult clean = scan_of(spec, {}, weights);
      EXPECT_EQ(clean.bad, 0);
      EXPECT_EQ(clean.rounding, 0);
      const std::int64_t last = n - 1, some = 1234;
      for (const std::int64_t at : {std::int64_t{0}, some, last}) {
        // One wrong element, by as little as there is.
        EXPECT_NE(scan_of(spec, {{at, values(at) + 1}}, weights).sum, clean.sum);
        if (is_integer(type) && type != DataType::s32) continue;  // all of their values are results
        const std::vector<double> bad =
            type == DataType::s32 ? std::vector<double>{-2147483648.0}
                                  : std::vector<double>{std::nan(""), infinity, -infinity};
        for (const double value : bad) {
          if (std::isinf(value) && !std::isinf(round_to(type, value))) continue;  // saturates
          const ScanResult found = scan_of(spec, {{at, value}, {last, bad.front()}}, weights);
          EXPECT_EQ(found.bad, at == last ? 1 : 2);
          EXPECT_EQ(found.first_bad, at);
          if (at == last) continue;
          EXPECT_TRUE(found.bad_value == value ||
                      (std::isnan(value) && std::isnan(found.bad_value)));
        }
      }
      // Two elements that have changed places; equal factors have one pair in sixteen.
      int seen = 0, pairs = 0;
      for (std::int64_t at = 0; at + 1 < n; at += 97) {
        if (values(at) == values(at + 1)) continue;
        ++pairs;
        seen +=
            scan_of(spec, {{at, values(at + 1)}, {at + 1, values(at)}}, weights).sum != clean.sum;
      }
      EXPECT_GT(seen, pairs * 8 / 10);
    }
}

TEST(DataOnGpu, WhatWasNotWrittenIsFound) {
  for (const DataType type :
       {DataType::fp64, DataType::fp32, DataType::bf16, DataType::fp16, DataType::s32})
    for (const TensorSpec& spec : specs_of(type, {2, 7, 5})) {
      const auto tensor = gpu().allocate(spec);
      gpu().fill(*tensor, type == DataType::s32 ? -2147483648.0 : std::nan(""));
      const ScanResult found = gpu().scan(*tensor, {}, nullptr);
      EXPECT_EQ(found.bad, spec.elements());
      EXPECT_EQ(found.first_bad, 0);
    }
}

/// A reader of a part of a tensor may use the GPU.
TEST(DataOnGpu, IsReadWhileItIsRead) {
  const Dims dims{3, 9, 1000};
  for (const TensorSpec& spec : specs_of(DataType::fp32, dims)) {
    const Values values(Kind::mantissa, 1, "t", spec.type, 0);
    const auto tensor = gpu().allocate(spec), other = gpu().allocate(spec);
    gpu().fill(*tensor, values);
    gpu().fill(*other, 7);
    std::int64_t wrong = 0, calls = 0;
    gpu().get(*tensor, [&](std::int64_t first, std::span<const double> part) {
      ++calls;
      gpu().get(*other, [&](std::int64_t, std::span<const double> sevens) {
        wrong += std::ranges::count_if(sevens, [](double value) { return value != 7; });
      });
      for (std::size_t i = 0; i < part.size(); ++i)
        wrong += part[i] != values(first + static_cast<std::int64_t>(i));
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(calls, 1);
  }
}

}  // namespace test_data
}  // namespace assay
