// Names as NVIDIA's profilers print them for cuDNN 7 to 9.
#include <gtest/gtest.h>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/kernel_names.hpp"

namespace assay {
namespace test_kernel_names {

using namespace cuda;

TEST(KernelNames, TensorCoresAreToldFromMultiplyAdds) {
  for (const char* name :
       {"volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_exp_interior_nhwc_tn_v1",
        "volta_h884cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1",
        "turing_fp16_s1688cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn",
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_"
        "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
        "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
        "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
        "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
        "void "
        "cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_64x64_16x10_nhwc_"
        "align4>(cutlass_tensorop_s1688fprop_optimized_tf32_64x64_16x10_nhwc_align4::Params)",
        "turing_int8_i8816cudnn_int8_256x128_ldg16_relu_singleBuffer_medium_nt_v1",
        "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
        "nvjet_sss_tf32_128x256_TNT", "nvjet_qqtst_128x256_128x6_2x1_v_bz_coopA_TNT",
        "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_"
        "tensor16x8x32_fused",
        "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_warpgroupsize1x1x1_execute_"
        "segment_k_off_kernel__5x_cublas"})
    EXPECT_TRUE(read_kernels({name}).tensor_cores) << name;
  for (const char* name :
       {"ampere_scudnn_128x64_relu_medium_nn_v1", "maxwell_scudnn_128x128_relu_interior_nn_v1",
        "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, "
        "true>(int, "
        "int, int, float const*, int, float*)",
        "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x128x8_"
        "stage3_warpsize2x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
        "volta_sgemm_128x64_nn", "cutlass_80_tensorop_d884gemm_64x32_16x4_nn_align1",
        "cutlass_90_tensorop_d1684gemm_128x64_16x3_nn_align1",
        "cutlass_90_tensorop_d16816gemm_128x64_16x3_nt_align1",
        "sm90_xmma_gemm_f64f64_f64f64_f64_nt_n_tilesize128x128x16_stage3_warpsize4x2x1_"
        "tensor16x8x16",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(cutlass_80_simt_sgemm_"
        "64x64_8x5_nn_align1::Params)",
        "sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor8x8x4_"
        "kernel",
        "void scalePackedTensor_kernel<float, float>(long, float*, float)",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(float const*)"})
    EXPECT_FALSE(read_kernels({name}).tensor_cores) << name;
}

TEST(KernelNames, PartsOfSumsThatAreAddedIn16BitsAreTold) {
  for (const char* name :
       {"sm90_xmma_wgrad_image_first_layer_f16f16_f32_f32_nhwckrsc_nhwc_hmma_k64c4r7s7_stride2x2_"
        "tile16x64x64_tensor1688_execute_kernel_kernel__5x_cudnn",
        "sm80_xmma_wgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_execute_split_k_kernel"})
    EXPECT_TRUE(read_kernels({"nhwcAddPaddingKernel", name}).adds_parts) << name;
  for (const char* name :
       {"sm90_xmma_fprop_image_first_layer_f16f16_f32_f16_nhwckrsc_nhwc_hmma_k64c4r7s7_stride2x2",
        "void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::reduction::kernel::ReduceSplitK<int> >",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half, false>"})
    EXPECT_FALSE(read_kernels({name}).adds_parts) << name;
}

TEST(KernelNames, PartsOfSumsThatAreAddedInFp32AreTold) {
  const std::string product = "cutlass_tensorop_f16_s16816wgrad_optimized_f16_128x128_32x5_nhwc",
                    reduction =
                        "void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::reduction::kernel::"
                        "ReduceSplitK<cutlass__5x_cudnn::MatrixShape<4, 256>, "
                        "cutlass__5x_cudnn::epilogue::thread::LinearCombination<"
                        "cutlass__5x_cudnn::half_t, 8, float, float, 0, 2>, "
                        "cutlass__5x_cudnn::reduction::thread::ReduceAdd<";
  EXPECT_TRUE(read_kernels({product, reduction + "float, float, 4> > >(…)"}).adds_in_fp32);
  EXPECT_FALSE(read_kernels({product, reduction + "half_t, half_t, 4> > >(…)"}).adds_in_fp32);
  EXPECT_FALSE(read_kernels({product}).adds_in_fp32);
}

TEST(KernelNames, AlgorithmsAreToldFromOneAnother) {
  EXPECT_EQ(
      read_kernels({"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
                    "volta_sgemm_128x64_nn",
                    "void cudnn::winograd_nonfused::winogradForwardOutput4x4<float>(int)"})
          .family,
      Family::winograd);
  EXPECT_EQ(read_kernels({"maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt_v1"}).family,
            Family::winograd);
  EXPECT_EQ(read_kernels({"void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*)",
                          "ampere_cgemm_32x64_nn", "void fft2d_c2r_32x32<float>(float*)"})
                .family,
            Family::fft);
  EXPECT_EQ(
      read_kernels({"void im2col4d_kernel<float, long>(int)", "ampere_sgemm_64x64_nn"}).family,
      Family::direct);
  EXPECT_EQ(find_family("winograd_nonfused"), Family::winograd);
  EXPECT_EQ(find_family("fft_tiling"), Family::fft);
  EXPECT_EQ(find_family("implicit_precomp_gemm"), Family::direct);
  EXPECT_EQ(find_family("algo_1"), Family::direct);
}

TEST(KernelNames, FloatsOfAnotherArithmeticAreRefused) {
  const KernelMeaning cores = read_kernels(
                          {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_execute"}),
                      adders = read_kernels({"ampere_sgemm_64x64_nn"});
  EXPECT_NE(why_not_arithmetic(cores, Precision::fp32), "");
  EXPECT_NE(why_not_arithmetic(adders, Precision::tf32), "");
  EXPECT_EQ(why_not_arithmetic(cores, Precision::tf32), "");
  EXPECT_EQ(why_not_arithmetic(adders, Precision::fp32), "");
  EXPECT_EQ(why_not_arithmetic(adders, Precision::fp16),
            "");  // the row says in what it was computed
}

TEST(Arithmetic, TheSwitchOfTf32IsHonouredOrRefused) {
  EXPECT_EQ(why_not_override(Precision::fp32, nullptr), "");
  EXPECT_EQ(why_not_override(Precision::fp32, "0"), "");
  EXPECT_EQ(why_not_override(Precision::fp16, "1"), "");
  EXPECT_EQ(why_not_override(Precision::tf32, "1"), "");
  EXPECT_NE(why_not_override(Precision::fp32, "1"), "");
  EXPECT_NE(why_not_override(Precision::tf32, "0"), "");
}

TEST(Arithmetic, AnEmulationByCublasIsRefused) {
  for (const char* off : {static_cast<const char*>(nullptr), "", "0"})
    for (const Precision precision : {Precision::fp32, Precision::fp64})
      EXPECT_EQ(why_not_emulation(precision, off, off), "");
  EXPECT_NE(why_not_emulation(Precision::fp32, "1", nullptr), "");
  EXPECT_EQ(why_not_emulation(Precision::fp32, nullptr, "1"), "");
  EXPECT_NE(why_not_emulation(Precision::fp64, nullptr, "1"), "");
  EXPECT_EQ(why_not_emulation(Precision::fp64, "1", nullptr), "");
  EXPECT_EQ(why_not_emulation(Precision::tf32, "1", "1"), "");
  EXPECT_EQ(why_not_emulation(Precision::fp16, "1", "1"), "");
}

TEST(KernelNames, TheRowShowsThemWithoutParameters) {
  EXPECT_EQ(read_kernels({"void one<(int)4, float>(float*, int)", "two"}).names,
            "void one<(int)4, float> + two");
  EXPECT_EQ(read_kernels({"(anonymous namespace)::three(int)"}).names,
            "(anonymous namespace)::three");
  EXPECT_LT(read_kernels({std::string(1000, 'x')}).names.size(), 200u);
}

}  // namespace test_kernel_names
}  // namespace assay
