#pragma once
// cuDNN's weight space: one buffer with all matrices and biases of a network, at offsets that only
// cuDNN knows. Assay's tensors of weights, and those of their gradients, are pieces of it.

#include <string>
#include <vector>

#include "kernels/cuda/rnn_form.hpp"

namespace assay::cuda {

/// Offsets, in elements of the weight space, of the matrices [H][inputs] of each layer, direction
/// and gate (in the order of the problem's dimensions L, D, G) and of the vectors of biases.
struct WeightPlaces {
  std::size_t bytes = 0;
  std::vector<std::int64_t> layer, iter, bias;
};

/// Queries cuDNN. CaseError if a matrix does not match the problem.
WeightPlaces weight_places(const CudnnDevice& device, const RnnProblem& problem,
                           const RnnForm& form, const RnnDescriptors& descriptors);

/// Turns the tensors `prefix` + weights_layer, weights_iter and bias into pieces of one weight
/// space. Each set of these tensors has its own space, which is zeroed; data() of all three is its
/// beginning.
void share_weight_space(CudaDevice& device, const RnnProblem& problem, const WeightPlaces& places,
                        const std::string& prefix, std::vector<TensorSpec>& specs);

}  // namespace assay::cuda
