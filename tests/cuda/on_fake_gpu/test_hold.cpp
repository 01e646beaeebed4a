// Streams of a fake GPU that are held back: what begins when, and who lets it go.

#include "core/measure/hold.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "fake_gpu.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {
namespace test_hold {

constexpr double work_s = 8e-6;

/// A slow host and a fast GPU.
class HoldOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {  // numbers are those of the fake's clock
    ONLY_ON_THE_FAKE_GPU();
  }
  HoldOnGpu() {
    set("FAKE_GPU_WORK_US", "8");
    set("FAKE_GPU_SUBMIT_US", "300");
  }
  ~HoldOnGpu() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const char* value) {
    setenv(name.c_str(), value, 1);
    set_.push_back(name);
  }
  static void work(const CudaStream& stream) {
    static CudaTensor tensor(plain_tensor("x", Role::output, DataType::fp32, {4}));
    ASSERT_EQ(cudaMemsetAsync(tensor.data(), 0, 16, stream.get()), cudaSuccess);
  }
  static double seconds(CudaStream& stream) {
    stream.wait();
    return stream.seconds(0, 1);
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(HoldOnGpu, ShowsTheDevicesTimeAlone) {
  CudaStream stream;
  for (int run = 0; run < 3; ++run) {
    stream.mark(0);
    work(stream);
    work(stream);
    stream.mark(1);
    EXPECT_GT(seconds(stream), 300e-6) << "which contains the host's";

    Hold hold(stream);
    ASSERT_TRUE(hold.holds());
    stream.mark(0);
    work(stream);
    work(stream);
    stream.mark(1);
    EXPECT_EQ(hold.release(), "");
    EXPECT_NEAR(seconds(stream), 2 * work_s, 1e-9);
  }
}

TEST_F(HoldOnGpu, HoldsAnotherStreamThatWaitsForIt) {
  CudaStream stream, other;
  cudaEvent_t begun = nullptr, done = nullptr;
  ASSERT_EQ(cudaEventCreate(&begun), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&done), cudaSuccess);
  {
    const Hold hold(stream);
    stream.mark(0);
    cudaEventRecord(begun, stream.get());
    cudaStreamWaitEvent(other.get(), begun, 0);
    work(other);
    work(other);
    work(stream);
    cudaEventRecord(done, other.get());
    cudaStreamWaitEvent(stream.get(), done, 0);
    stream.mark(1);
  }
  EXPECT_NEAR(seconds(stream), 2 * work_s, 1e-9) << "one of three pieces runs beside the others";
  cudaEventDestroy(begun);
  cudaEventDestroy(done);
}

TEST_F(HoldOnGpu, IsLetGoByAHostThatWaits) {
  CudaStream stream;
  Hold hold(stream);
  work(stream);
  stream.wait();
  EXPECT_EQ(hold.release(), "a run waits for the GPU");
  Hold next(stream);
  EXPECT_EQ(next.release(), "");
}

TEST_F(HoldOnGpu, IsLetGoWhereTheHostWaitsUnseen) {
  CudaStream stream;
  Hold hold(stream);
  work(stream);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);  // as a library does
  EXPECT_NE(hold.release().find("a library waits for the GPU"), std::string::npos);
  set("FAKE_GPU_QUEUE", "3");
  Hold full(stream);
  for (int i = 0; i < 5; ++i) work(stream);
  EXPECT_NE(full.release().find("more launches than"), std::string::npos);
}

TEST_F(HoldOnGpu, EndsWithAnException) {
  CudaStream stream;
  try {
    const Hold hold(stream);
    work(stream);
    throw std::runtime_error("a run fails");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

}  // namespace test_hold
}  // namespace assay::cuda
