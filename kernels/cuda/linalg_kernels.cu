#include "kernels/cuda/for_each.cuh"
#include "kernels/cuda/linalg_items.hpp"

#define ASSAY_START_OF(Item) \
  ASSAY_START(Item<double>)  \
  ASSAY_START(Item<float>)
ASSAY_START(Fill)
ASSAY_START_OF(Widen)
ASSAY_START_OF(Centre)
ASSAY_START_OF(Select)
ASSAY_START_OF(HalfNorm)
ASSAY_START_OF(Assign)
ASSAY_START_OF(SquaredDifference)
ASSAY_START_OF(Margin)
