// The kernels that compute parts of references.

#include "kernels/cuda/for_each.cuh"
#include "kernels/cuda/product_items.hpp"
#include "kernels/cuda/proof_formulas.hpp"

#define ASSAY_START_EXPECTATION(Code) \
  ASSAY_START(CompareLane<Code>)      \
  ASSAY_START(ExpectElement<Code>)
#define ASSAY_START_SUM(Code) ASSAY_START(SumChannelPart<Code>)

ASSAY_EXPECTATIONS(ASSAY_START_EXPECTATION)
ASSAY_CHANNEL_SUMS(ASSAY_START_SUM)
ASSAY_START(JoinComparisons)
ASSAY_START(MultiplyRows)
