// The kernels of the operations of networks.

#include "kernels/cuda/for_each.cuh"
#include "kernels/cuda/sum_items.hpp"
#include "kernels/cuda/update_items.hpp"

ASSAY_START(AddUp)

ASSAY_START(Add<double>)
ASSAY_START(Add<float>)
ASSAY_START(Add<__half>)
ASSAY_START(Add<__nv_bfloat16>)

ASSAY_START(SumParameters<double>)
ASSAY_START(SumParameters<float>)
ASSAY_START(AddLanes)
ASSAY_START(MakeStep<double>)
ASSAY_START(MakeStep<float>)
ASSAY_START(MakeNorms<double>)
ASSAY_START(MakeNorms<float>)
ASSAY_START(UpdateParameters<double, double>)
ASSAY_START(UpdateParameters<float, float>)
ASSAY_START(UpdateParameters<float, __half>)
ASSAY_START(UpdateParameters<float, __nv_bfloat16>)
