// No call that a real GPU may refuse while a stream records passes on the fake one.

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "core/base/error.hpp"
#include "fake_gpu.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {
namespace test_recording {

TEST(RecordingOnGpu, RefusesWhatWaitsOrAllocates) {
  ONLY_ON_THE_FAKE_GPU();  // a real one may allow some of it
  CudaDevice device;
  const auto tensor = device.allocate(plain_tensor("x", Role::output, DataType::fp32, {4}));
  const auto locked = device.host_memory(16);
  std::vector<float> pageable(4);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  void *of_gpu = nullptr, *of_host = nullptr;
  ASSERT_EQ(cudaMalloc(&of_gpu, 16), cudaSuccess);
  const auto copy = [&](void* to, const void* from) { device.copy(to, from, 16); };
  const std::vector<std::pair<const char*, std::function<void()>>> calls{
      {"free", [&] { cudaFree(of_gpu); }},
      {"page-lock", [&] { cudaHostAlloc(&of_host, 16, 0); }},
      {"query", [&] { cudaEventQuery(event); }},
      {"pageable to GPU", [&] { copy(tensor->data(), pageable.data()); }},
      {"GPU to pageable", [&] { copy(pageable.data(), tensor->data()); }}};
  for (const auto& [name, call] : calls) {
    EXPECT_THROW(device.stream().record(call), CaseError) << name;
    cudaGetLastError();
  }
  EXPECT_NO_THROW(device.stream().record([&] { copy(locked.get(), tensor->data()); }));
  cudaFree(of_gpu);
  cudaEventDestroy(event);
}

}  // namespace test_recording
}  // namespace assay::cuda
