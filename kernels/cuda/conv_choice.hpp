#pragma once
// The ways that cuDNN has for a convolution, and the choice among them.

#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "kernels/cuda/conv_form.hpp"

namespace assay::cuda {

/// What is asked of cuDNN.
struct Asked {
  CudnnDevice& place;
  const ConvProblem& problem;
  const ConvForm& form;
  std::string text;  ///< the request, for messages
  Communicator& ranks;
};

using Made = Result<std::unique_ptr<Operation>>;

/// An operation of this algorithm of the older interface, which has run once; or why there is none.
Made by_algorithm(const Asked& asked, int algorithm);

/// The best of the first algorithm of the older interface, if `older`, and of the first plans of
/// each of `graphs`. Ranks choose together, by the longest durations: each asks once, whatever
/// happened.
Made best_of(const Asked& asked, bool older, const std::vector<std::string>& graphs);

}  // namespace assay::cuda
