// ratio: oneDNN's over native forward inference, gru_lbr:1024-64-1500 with linear input, fp32
// target: >= 1.15
// or: rnn_gru_peak
// pairs: 6

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    OperationPair pair(rnn_benchmark(),
                       {{"problem", "gru_lbr:1024-64-1500"},
                        {"direction", "forward_inference"},
                        {"input", "linear"}},
                       "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}
