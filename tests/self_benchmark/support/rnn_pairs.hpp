#pragma once
// A recurrent network by oneDNN and by native.

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

namespace assay::self_benchmark {

/// main() of a ratio: oneDNN's time over native's, with linear input. `problem`:
/// hidden-batch-steps.
inline int onednn_over_native(int argc, char** argv, const std::string& problem,
                              const std::string& direction, const std::string& precision = "fp32") {
  return print([&] {
    OperationPair pair(rnn_benchmark(),
                       {{"problem", problem},
                        {"direction", direction},
                        {"input", "linear"},
                        {"precision", precision}},
                       "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}

}  // namespace assay::self_benchmark
