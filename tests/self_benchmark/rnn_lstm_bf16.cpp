// ratio: oneDNN's over native forward inference, lstm:1024-64-25 with linear input, bf16
// target: >= 1.0
// pairs: 20

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    OperationPair pair(rnn_benchmark(),
                       {{"problem", "lstm:1024-64-25"},
                        {"direction", "forward_inference"},
                        {"input", "linear"},
                        {"precision", "bf16"}},
                       "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}
