#include "core/api/host_device.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "core/api/random.hpp"
#include "core/machine/environment.hpp"

namespace assay {
namespace test_host_device {

TensorSpec spec_of(DataType type, std::vector<std::int64_t> dims) {
  TensorSpec spec;
  spec.name = "t";
  spec.type = type;
  spec.dims = std::move(dims);
  return spec;
}

TEST(HostDevice, WhatIsPutIsGotInOrder) {
  HostDevice device;
  for (const DataType type :
       {DataType::fp64, DataType::fp32, DataType::bf16, DataType::fp16, DataType::s32, DataType::s8,
        DataType::u8, DataType::fp8_e4m3, DataType::fp8_e5m2}) {
    for (const std::vector<std::int64_t>& dims : std::vector<std::vector<std::int64_t>>{
             {1}, {7}, {3, 5}, {8192}, {8193}, {5, 8192}, {2, 3, 4, 5}, {100, 1000}}) {
      const Values values(Values::Kind::mantissa, 5, "t", type, 100);
      const auto tensor = device.allocate(spec_of(type, dims));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data()) % 64, 0u);
      device.put(*tensor,
                 [&](std::int64_t first, std::span<double> out) { values.fill(first, out); });
      std::int64_t next = 0;
      device.get(*tensor, [&](std::int64_t first, std::span<const double> shown) {
        ASSERT_EQ(first, next);
        for (std::size_t i = 0; i < shown.size(); ++i) {
          ASSERT_EQ(shown[i], values(first + static_cast<std::int64_t>(i)))
              << name(type) << " " << first + static_cast<std::int64_t>(i);
        }
        next += static_cast<std::int64_t>(shown.size());
      });
      EXPECT_EQ(next, tensor->spec().elements());
    }
  }
}

TEST(HostDevice, ASourceSeesEveryElementOnceWhateverTheThreads) {
  std::vector<float> data(100001);
  std::vector<int> seen(data.size());
  std::mutex mutex;
  fill_packed(DataType::fp32, static_cast<std::int64_t>(data.size()), data.data(),
              [&](std::int64_t first, std::span<double> out) {
                const std::lock_guard lock(mutex);
                for (std::size_t i = 0; i < out.size(); ++i) {
                  ++seen[static_cast<std::size_t>(first) + i];
                  out[i] = static_cast<double>(first) + static_cast<double>(i);
                }
              });
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(seen[i], 1);
    ASSERT_EQ(data[i], static_cast<float>(i));
  }
}

TEST(HostDevice, AnExceptionOfASourceComesOut) {
  std::vector<float> data(100000);
  EXPECT_THROW(fill_packed(DataType::fp32, 100000, data.data(),
                           [](std::int64_t first, std::span<double>) {
                             if (first > 50000) throw std::runtime_error("no data");
                           }),
               std::runtime_error);
}

TEST(HostDevice, NothingIsNothing) {
  fill_packed(DataType::fp32, 0, nullptr, [](std::int64_t, std::span<double>) { FAIL(); });
  show_packed(DataType::fp32, 0, nullptr, [](std::int64_t, std::span<const double>) { FAIL(); });
}

TEST(HostDevice, AWorkspaceHasItsBytes) {
  HostDevice device;
  TensorSpec spec;
  spec.role = Role::workspace;
  spec.bytes = 1000;
  const auto tensor = device.allocate(spec);
  EXPECT_EQ(tensor->spec().bytes, 1000u);
  std::fill_n(static_cast<char*>(tensor->data()), 1000, 'x');
}

TEST(HostDevice, TellsWhatTheHostHas) {
  HostDevice device;
  EXPECT_GT(device.memory_available(), 0u);
  EXPECT_EQ(device.cache_bytes(), cache_bytes());
}

TEST(HostStream, MarksAreMonotonicAndApart) {
  HostStream stream;
  stream.mark(0);
  volatile double sum = 0;
  for (int i = 0; i < 100000; ++i) sum = sum + std::sqrt(static_cast<double>(i));
  stream.mark(1);
  stream.mark(15);
  stream.wait();
  EXPECT_GT(stream.seconds(0, 1), 0);
  EXPECT_GE(stream.seconds(1, 15), 0);
  EXPECT_DOUBLE_EQ(stream.seconds(0, 15), stream.seconds(0, 1) + stream.seconds(1, 15));
  EXPECT_EQ(stream.seconds(1, 0), -stream.seconds(0, 1));
}

}  // namespace test_host_device
}  // namespace assay
