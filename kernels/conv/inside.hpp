#pragma once
// The products of a convolution that do not read padding.

#include "kernels/conv/problem.hpp"

namespace assay {

/// Operations of a direct sum without the products that read padding, if these are more than half
/// of all products. This happens with filters whose dilation exceeds the extent of the plane.
/// Otherwise 0: the usual count, ConvProblem::flops(), is then less than twice the work.
double flops_inside(const ConvProblem& problem);

}  // namespace assay
