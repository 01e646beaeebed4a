#pragma once
// cuDNN's weight space: one memory in which it lays out all matrices and biases of a network, at
// places that only it knows. Our tensors of weights, and of their gradients, are its pieces.

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/rnn_form.hpp"

namespace assay::cuda {

/// Where cuDNN has the matrices [H][inputs] of each layer, direction and gate (in the order of the
/// problem's dimensions L, D, G) and the vectors of biases, as elements of the weight space.
struct WeightPlaces {
  std::size_t bytes = 0;
  std::vector<std::int64_t> layer, iter, bias;
};

/// Asks cuDNN. CaseError where a matrix is none that the problem has.
WeightPlaces weight_places(const CudnnDevice& device, const RnnProblem& problem,
                           const RnnForm& form, const RnnDescriptors& descriptors);

/// Makes `prefix` + weights_layer, weights_iter and bias pieces of one weight space: each set of
/// these tensors has a space of its own, zeroed when it is made, and data() of all three is its
/// beginning.
void share_weight_space(CudaDevice& device, const RnnProblem& problem, const WeightPlaces& places,
                        const std::string& prefix, std::vector<TensorSpec>& specs);

}  // namespace assay::cuda
