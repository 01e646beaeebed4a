// The fake GPU gives what it copies to page-locked memory only to a host that has waited for it.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "support/cuda/device.hpp"

namespace assay::cuda {
namespace test_late_copies {

TEST(CopiesOfTheFakeGpu, ArriveWithTheWait) {
  if (dlsym(RTLD_DEFAULT, "fake_gpu_crossed") == nullptr)
    GTEST_SKIP() << "a real one may be as quick as the host";
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

}  // namespace test_late_copies
}  // namespace assay::cuda
