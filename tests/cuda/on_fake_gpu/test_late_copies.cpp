// The fake GPU gives what it copies to page-locked memory only to a host that has waited for it.

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "fake_gpu.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {
namespace test_late_copies {

TEST(CopiesOfTheFakeGpu, ArriveWithTheWait) {
  ONLY_ON_THE_FAKE_GPU();  // a real one may be as quick as the host
  CudaDevice device;
  const auto tensor = device.allocate(plain_tensor("x", Role::output, DataType::fp32, {4}));
  const std::vector<float> given{1, 2, 3, 4};
  const auto memory = device.host_memory(sizeof(float) * 4);
  const std::span<float> found(static_cast<float*>(memory.get()), 4);
  for (const bool waits_for_an_event : {false, true}) {
    device.copy(tensor->data(), given.data(), sizeof(float) * 4);
    device.copy(found.data(), tensor->data(), sizeof(float) * 4);
    for (const float value : found) EXPECT_TRUE(std::isnan(value));
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, device.stream().get()), cudaSuccess);
    if (waits_for_an_event)
      while (cudaEventQuery(event) != cudaSuccess) cudaGetLastError();
    else
      device.stream().wait();
    EXPECT_EQ(std::vector(found.begin(), found.end()), given);
    cudaEventDestroy(event);
  }
  // In the order of the stream, and nothing is lost.
  device.copy(found.data(), tensor->data(), sizeof(float) * 4);
  device.copy(tensor->data(), found.data(), sizeof(float) * 4);
  device.stream().wait();
  std::vector<float> again(4);
  device.copy(again.data(), tensor->data(), sizeof(float) * 4);
  device.stream().wait();
  EXPECT_EQ(again, given);
}

TEST(CopiesOfTheFakeGpu, MayNotBeChangedBeforeTheWait) {
  ONLY_ON_THE_FAKE_GPU();
  CudaDevice device;
  const auto tensor = device.allocate(plain_tensor("x", Role::output, DataType::fp32, {1}));
  const auto memory = device.host_memory(sizeof(float));
  auto& number = *static_cast<float*>(memory.get());
  const auto send = [&](float value) {
    number = value;
    device.copy(tensor->data(), &number, sizeof number);
  };
  send(1);
  device.stream().wait();
  send(2);
  number = 3;
  EXPECT_DEATH(device.stream().wait(), "written before the GPU had read it");
  number = 2;
  device.stream().wait();
}

}  // namespace test_late_copies
}  // namespace assay::cuda
