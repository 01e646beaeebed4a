#include "kernels/cuda/for_each.cuh"
#include "kernels/cuda/linalg_items.hpp"

#define ASSAY_START_OF(Item) \
  ASSAY_START(Item<double>)  \
  ASSAY_START(Item<float>)
// Items with packs as wide as the rows allow.
#define ASSAY_START_TILED(Item) \
  ASSAY_START(Item<double, 2>)  \
  ASSAY_START(Item<double, 1>)  \
  ASSAY_START(Item<float, 4>)   \
  ASSAY_START(Item<float, 2>)   \
  ASSAY_START(Item<float, 1>)
ASSAY_START_OF(Observe)
ASSAY_START(AddMatrices)
ASSAY_START_OF(HalfNorm)
ASSAY_START_TILED(FindLabels)
ASSAY_START_TILED(AddToCentroids)
ASSAY_START(AddCentroids)
ASSAY_START_TILED(HingeRows)
ASSAY_START(AddHinge)
