#pragma once
// The products of a convolution that padding does not make 0.

#include "kernels/conv/problem.hpp"

namespace assay {

/// Operations of a direct sum that leaves out products with padding, where these are more than
/// half of all, as with filters that are dilated by more than the plane is large. Else 0: the usual
/// count, ConvProblem::flops(), is then less than twice what is done.
double flops_inside(const ConvProblem& problem);

}  // namespace assay
