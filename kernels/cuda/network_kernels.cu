// The kernels of the operations of networks.

#include "kernels/cuda/activation_items.hpp"
#include "kernels/cuda/concat_items.hpp"
#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/dropout_items.hpp"
#include "kernels/cuda/for_each.cuh"
#include "kernels/cuda/loss_items.hpp"
#include "kernels/cuda/norm_items.hpp"
#include "kernels/cuda/pixel_loss_items.hpp"
#include "kernels/cuda/pool_items.hpp"
#include "kernels/cuda/resize_items.hpp"
#include "kernels/cuda/squared_error_items.hpp"
#include "kernels/cuda/sum_items.hpp"
#include "kernels/cuda/update_items.hpp"

#define ASSAY_START_WIDE(Item) \
  ASSAY_START(Item<double>)    \
  ASSAY_START(Item<float>)
#define ASSAY_START_STORED(Item) \
  ASSAY_START_WIDE(Item)         \
  ASSAY_START(Item<__half>)      \
  ASSAY_START(Item<__nv_bfloat16>)

// Items of whole packs of channels, and of single ones.
#define ASSAY_START_PACKED(Item)      \
  ASSAY_START(Item<double, 2>)        \
  ASSAY_START(Item<double, 1>)        \
  ASSAY_START(Item<float, 4>)         \
  ASSAY_START(Item<float, 1>)         \
  ASSAY_START(Item<__half, 8>)        \
  ASSAY_START(Item<__half, 1>)        \
  ASSAY_START(Item<__nv_bfloat16, 8>) \
  ASSAY_START(Item<__nv_bfloat16, 1>)

ASSAY_START_WIDE(SumStage)
ASSAY_START(SumStage<std::int32_t>)

ASSAY_START_STORED(Add)

ASSAY_START_WIDE(SumParameters)
ASSAY_START(AddStale)
ASSAY_START_WIDE(MakeStep)
ASSAY_START_WIDE(SumDirections)
ASSAY_START_WIDE(TrustDirections)
ASSAY_START_WIDE(MakeNorms)
ASSAY_START(UpdateParameters<double, double>)
ASSAY_START(UpdateParameters<float, float>)
ASSAY_START(UpdateParameters<float, __half>)
ASSAY_START(UpdateParameters<float, __nv_bfloat16>)

ASSAY_START_STORED(LossOfSample)
ASSAY_START_PACKED(LossGradients)
ASSAY_START_PACKED(SquaredErrorMeans)
ASSAY_START_PACKED(SquaredErrorSums)
#define ASSAY_START_PIXELS(Stored)     \
  ASSAY_START(LossOfPixels<Stored, 3>) \
  ASSAY_START(LossOfPixels<Stored, 0>)
ASSAY_START_PIXELS(double)
ASSAY_START_PIXELS(float)
ASSAY_START_PIXELS(__half)
ASSAY_START_PIXELS(__nv_bfloat16)
ASSAY_START_WIDE(SquaredErrorResults)

ASSAY_START_WIDE(NormFactor)
ASSAY_START_WIDE(NormGivenMoments)
ASSAY_START_STORED(NormMoments)
ASSAY_START_WIDE(NormSlopes)
ASSAY_START_PACKED(NormMomentSums)
ASSAY_START_PACKED(NormGradientSums)
ASSAY_START_PACKED(Normalize)
ASSAY_START_PACKED(NormGradients)

ASSAY_START_PACKED(PoolLargest)
ASSAY_START_PACKED(PoolMean)
ASSAY_START_PACKED(PoolGather)

ASSAY_START_PACKED(CopyPiece)
ASSAY_START_PACKED(ResizePixel)
ASSAY_START_PACKED(ResizeGather)

ASSAY_START_PACKED(Activate)
ASSAY_START_PACKED(ActivationSums)
ASSAY_START_PACKED(ActivationGradient)

ASSAY_START_PACKED(Drop)

ASSAY_START_STORED(Transpose)
ASSAY_START(ToFp32<__half>)
ASSAY_START(ToFp32<__nv_bfloat16>)
