#pragma once
// The functions of activations. nvcc reads this header, too.

namespace assay {

enum class ActivationFunction { identity, relu, sigmoid, tanh, gelu, log_sigmoid };

}  // namespace assay
