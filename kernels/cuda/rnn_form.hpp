#pragma once
// A recurrent network in the form of cuDNN's descriptors. Needs the library, but no GPU.

#include <string>
#include <vector>

#include "kernels/cuda/cudnn.hpp"
#include "kernels/rnn/problem.hpp"

namespace assay::cuda {

using RnnDescriptor =
    CudnnObject<cudnnRNNDescriptor_t, &cudnnCreateRNNDescriptor, &cudnnDestroyRNNDescriptor>;
using RnnDataDescriptor = CudnnObject<cudnnRNNDataDescriptor_t, &cudnnCreateRNNDataDescriptor,
                                      &cudnnDestroyRNNDataDescriptor>;

/// Names of cuDNN's algorithms; the place in the list is the enumerator's value.
const std::vector<std::string>& list_rnn_algorithm_names();

/// A problem in cuDNN's terms.
struct RnnForm {
  std::vector<TensorSpec> specs;  ///< of RnnProblem::tensors(); cuDNN requires one type for all
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_LSTM;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_SINGLE_INP_BIAS;
  CudnnArithmetic arithmetic;
};

/// The form of a problem with an algorithm ("auto" is standard, since cuDNN does not choose), or
/// the reason why cuDNN does not support it.
Result<RnnForm> rnn_form(const RnnProblem& problem, const std::string& algorithm);

/// The descriptors of a form. Sequences are packed, all of one length: [T,N,…] as in the problem.
struct RnnDescriptors {
  RnnDescriptors(const RnnProblem& problem, const RnnForm& form);

  RnnDescriptor network;
  RnnDataDescriptor x, y;
  TensorDescriptor state;  ///< [L*D,N,H]
};

/// cuDNN's numbers (linLayerID) for the two matrices of one of our gates (for the input and for the
/// state), and for their biases.
struct GateIds {
  int input, recurrent;
};
GateIds gate_ids(RnnCell cell, std::int64_t gate);

}  // namespace assay::cuda
