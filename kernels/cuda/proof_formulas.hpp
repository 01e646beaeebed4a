#pragma once
// The formulas whose code the GPU has. nvcc reads this header, too.

#include "kernels/activation/formula_items.hpp"
#include "kernels/conv/formula_items.hpp"
#include "kernels/cuda/proof_items.hpp"
#include "kernels/dropout/formula_items.hpp"
#include "kernels/gemm/formula_items.hpp"
#include "kernels/linalg/formula_items.hpp"
#include "kernels/loss/formula_items.hpp"
#include "kernels/norm/formula_items.hpp"
#include "kernels/oracle/copied_element.hpp"
#include "kernels/oracle/part_of_sum.hpp"
#include "kernels/pixel_loss/formula_items.hpp"
#include "kernels/pool/formula_items.hpp"
#include "kernels/resize/formula_items.hpp"
#include "kernels/squared_error/formula_items.hpp"
#include "kernels/stream/formula_items.hpp"
#include "kernels/sum/formula_items.hpp"
#include "kernels/update/formula_items.hpp"

// Calls Use(code) for each code that computes expected elements, and for each that is summed over
// channels.
#define ASSAY_EXPECTATIONS(Use)                                                                    \
  Use(assay::norm::Dst) Use(assay::norm::DiffSrc) Use(assay::norm::DiffAddend)                     \
      Use(assay::pool::Dst) Use(assay::pool::DiffSrc) Use(assay::sum::Dst)                         \
          Use(assay::CopiedElement) Use(assay::concat::Dst) Use(assay::concat::DiffSrc)            \
              Use(assay::activation::Dst) Use(assay::activation::DiffSrc) Use(assay::dropout::Dst) \
                  Use(assay::resize::Dst) Use(assay::resize::DiffSrc) Use(assay::update::Element)  \
                      Use(assay::sums::PartOfSum<assay::convolution::Products>)                    \
                          Use(assay::sums::PartOfSum<assay::matrix_product::Products>)             \
                              Use(assay::stream::Element) Use(assay::loss::RowParts) Use(          \
                                  assay::loss::DiffLogits) Use(assay::pixel_loss::DiffLogits)      \
                                  Use(assay::squared_error::DiffOutputs) Use(                      \
                                      assay::sums::PartOfSum<assay::pixel_loss::Products>)         \
                                      Use(assay::sums::PartOfSum<assay::squared_error::Products>)  \
                                          Use(assay::sums::PartOfSum<assay::linalg::Products>)
#define ASSAY_CHANNEL_SUMS(Use)                                                             \
  Use(assay::norm::SourceSums) Use(assay::norm::CentredSums) Use(assay::norm::GradientSums) \
      Use(assay::activation::GradientSums) Use(assay::update::SquareSums)                   \
          Use(assay::update::StepSums) Use(assay::update::StaleSums)                        \
              Use(assay::loss::GradientSums)
