// ratio: oneDNN's over native gradients of data and weights, lstm:1024-64-25, linear, fp32
// target: >= 1.0
// pairs: 20

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    OperationPair pair(rnn_benchmark(),
                       {{"problem", "lstm:1024-64-25"}, {"direction", "bwd"}, {"input", "linear"}},
                       "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}
