// The kernels that generate inputs and read outputs.

#include "kernels/cuda/data_items.hpp"
#include "kernels/cuda/for_each.cuh"

#define ASSAY_START_TYPES(Item)    \
  ASSAY_START(Item<double>)        \
  ASSAY_START(Item<float>)         \
  ASSAY_START(Item<__half>)        \
  ASSAY_START(Item<__nv_bfloat16>) \
  ASSAY_START(Item<int>)           \
  ASSAY_START(Item<signed char>)   \
  ASSAY_START(Item<unsigned char>) \
  ASSAY_START(Item<Fp8E4m3>)       \
  ASSAY_START(Item<Fp8E5m2>)

ASSAY_START_TYPES(MakeValues)
ASSAY_START_TYPES(ScanLane)
ASSAY_START_TYPES(Gather)
ASSAY_START(ScanStage)
#define ASSAY_START_BITS(Item)      \
  ASSAY_START(Item<unsigned char>)  \
  ASSAY_START(Item<unsigned short>) \
  ASSAY_START(Item<unsigned int>)   \
  ASSAY_START(Item<unsigned long>)

ASSAY_START_BITS(SetElement)
ASSAY_START_BITS(PackElement)
ASSAY_START_BITS(PlaceElement)
