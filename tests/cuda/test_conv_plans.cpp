// Convolutions as graphs of cuDNN, by the real library, which needs no GPU for this: since 9.8 it
// proposes engines for a GPU that is described.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kernels/cuda/conv_plans.hpp"

namespace assay {
namespace test_conv_plans {

using namespace cuda;

// An H100 (SXM, 80 GB), by its data sheet and the programming guide.
constexpr std::string_view h100 =
    R"({"deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "deviceName": "NVIDIA H100 80GB HBM3",
        "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
        "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
        "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
        "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
        "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
        "supportCoopLaunch": 1, "totalGlobalMem": 85000000000, "smClockRateKHz": 1980000,
        "memClockRateKHz": 2619000, "l2CacheSize": 52428800})";

class OfAnH100 : public testing::Test {
 protected:
  void SetUp() override {
#if CUDNN_VERSION >= 90800
    if (cudnnGetVersion() < 90800) GTEST_SKIP() << cudnn_library() << " describes no GPU";
    properties_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, h100.size(),
                     h100.data());
    properties_->finalize();
#else
    GTEST_SKIP() << "cuDNN before 9.8 describes no GPU";
#endif
  }

  /// The engines that keep to the precision, direct sums first; each of them becomes a plan.
  std::vector<ConvEngine> kept(const std::string& shape, ConvDirection direction,
                               Precision precision, const std::string& layout = "any") {
    const ConvProblem problem(parse_conv(shape), direction, precision);
    const ConvForm form = std::get<ConvForm>(conv_form(problem, layout));
    const ConvGraph graph({nullptr, &*properties_}, problem, form);
    std::vector<ConvEngine> all;
    std::size_t planned = 0;
    for (ConvEngine& engine : graph.engines()) {
      if (!keeps_to(engine, precision, Family::direct)) continue;
      if (all.size() < 2) try {
          graph.plan(engine);
          ++planned;
        } catch (const CudnnError& error) {
          EXPECT_TRUE(not_supported(error.status)) << error.what();
        }
      all.push_back(std::move(engine));
    }
    EXPECT_GT(planned, 0u) << shape << " " << name(direction) << " " << name(precision);
    return all;
  }

  std::optional<GraphObject> properties_;
};

TEST_F(OfAnH100, EveryShapePrecisionAndDirectionHasPlans) {
  for (const char* shape :
       {"mb16ic64ih112oc128oh112kh3ph1", "mb1ic8ih9iw6oc8oh5ow3kh3kw4sh2sw1ph1pw0",
        "g2mb2ic16ih6oc32oh4kh3", "mb2ic8ih9oc8oh5kh3dh1",
        "mb1ic8id4ih5iw6oc8od4oh5ow6kd3kh3kw3pd1ph1pw1"})
    for (const ConvDirection direction :
         {ConvDirection::forward, ConvDirection::bwd_data, ConvDirection::bwd_weights})
      for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16})
        kept(shape, direction, precision);
}

TEST_F(OfAnH100, NotesSelectTheArithmetic) {
  const std::string shape = "mb16ic64ih112oc128oh112kh3ph1";
  for (const char* layout : {"nchw", "nhwc"}) {
    for (const ConvEngine& engine : kept(shape, ConvDirection::forward, Precision::fp32, layout))
      EXPECT_FALSE(engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) << engine.name;
    for (const ConvEngine& engine : kept(shape, ConvDirection::forward, Precision::tf32, layout))
      EXPECT_TRUE(engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) << engine.name;
  }
  bool parts = false, whole = false;  // of gradients of filters cuDNN 9.19 has both
  for (const ConvEngine& engine : kept(shape, ConvDirection::bwd_weights, Precision::fp16))
    (engine.adds_parts() ? parts : whole) = true;
  EXPECT_TRUE(parts && whole);
  EXPECT_FALSE(kept(shape, ConvDirection::forward, Precision::fp64).empty());
}

constexpr std::array shapes_of_resnet50{
    "mb64ic3ih224oc64oh112kh7sh2ph3", "mb64ic64ih56oc64oh56kh3ph1", "mb64ic64ih56oc256oh56kh1",
    "mb64ic256ih56oc512oh28kh1sh2", "mb2ic512ih7oc512oh7kh3ph1"};

bool has_driver_library() {
  return dlopen("libcuda.so.1", RTLD_NOW) != nullptr || dlopen(CUDA_STUB, RTLD_NOW) != nullptr;
}

// Such engines are compiled when they are planned, for which a driver is needed: without one they
// are proposed, no more.
TEST_F(OfAnH100, ConvolutionsAreFusedWithTheirNormalizations) {
  if (!has_driver_library()) GTEST_SKIP() << "neither libcuda nor its stub is here";
  for (const char* shape : shapes_of_resnet50)
    for (const NormFusion fusion : {NormFusion::none, NormFusion::relu, NormFusion::add_relu})
      for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::tf32}) {
        const ConvProblem problem(parse_conv(shape), ConvDirection::forward, precision);
        const ConvGraph graph(
            {nullptr, &*properties_}, problem,
            add_normalization(std::get<ConvForm>(conv_form(problem, "nhwc")), fusion));
        EXPECT_EQ(graph.tensors(), fusion == NormFusion::add_relu ? 7u : 6u);
        const std::vector<ConvEngine> engines = graph.engines();
        EXPECT_TRUE(std::ranges::any_of(
            engines,
            [&](const ConvEngine& engine) { return keeps_to(engine, precision, Family::direct); }))
            << shape << " " << name(fusion) << " " << name(precision);
      }
}

TEST_F(OfAnH100, ConvolutionsAreSummedForTheirNormalizations) {
  if (!has_driver_library()) GTEST_SKIP() << "neither libcuda nor its stub is here";
  for (const char* shape : shapes_of_resnet50)
    for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::tf32}) {
      const ConvProblem problem(parse_conv(shape), ConvDirection::forward, precision);
      const ConvGraph graph({nullptr, &*properties_}, problem,
                            add_sums(std::get<ConvForm>(conv_form(problem, "nhwc"))));
      EXPECT_EQ(graph.tensors(), 5u);
      const std::vector<ConvEngine> engines = graph.engines();
      EXPECT_TRUE(std::ranges::any_of(
          engines,
          [&](const ConvEngine& engine) { return keeps_to(engine, precision, Family::direct); }))
          << shape << " " << name(precision);
    }
}

TEST(ConvPlans, KeepToAPrecisionByTheirNotes) {
  const auto keeps = [](std::vector<cudnnBackendNumericalNote_t> notes, Precision precision,
                        Family family = Family::direct) {
    return keeps_to({GraphObject(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), "", std::move(notes)},
                    precision, family);
  };
  using enum Precision;
  constexpr auto tensor_core = CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                 narrow = CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
                 parts = CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
  EXPECT_TRUE(keeps({}, fp32));
  EXPECT_TRUE(keeps({CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, fp32));
  EXPECT_FALSE(keeps({tensor_core}, fp32));
  EXPECT_FALSE(keeps({}, tf32));
  EXPECT_TRUE(keeps({tensor_core}, tf32));
  EXPECT_TRUE(keeps({tensor_core}, fp64));
  EXPECT_TRUE(keeps({}, fp16));
  for (const Precision precision : {fp64, fp32, tf32, bf16, fp16}) {
    const bool narrow_type = precision == bf16 || precision == fp16;
    EXPECT_FALSE(keeps({tensor_core, narrow}, precision));
    EXPECT_EQ(keeps({tensor_core, parts}, precision), narrow_type);
  }
  EXPECT_FALSE(keeps({CUDNN_NUMERICAL_NOTE_FFT}, fp32));
  EXPECT_TRUE(keeps({CUDNN_NUMERICAL_NOTE_FFT}, fp32, Family::fft));
  EXPECT_FALSE(keeps({CUDNN_NUMERICAL_NOTE_WINOGRAD}, fp32));
  EXPECT_TRUE(keeps({CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}, fp32, Family::winograd));
  EXPECT_FALSE(keeps({}, fp32, Family::winograd));
}

}  // namespace test_conv_plans
}  // namespace assay
