// ratio: oneDNN's over native forward inference, lstm:1024-64-25 with linear input, fp32
// target: >= 1.15
// or: rnn_lstm_peak
// pairs: 20

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    OperationPair pair(
        rnn_benchmark(),
        {{"problem", "lstm:1024-64-25"}, {"direction", "forward_inference"}, {"input", "linear"}},
        "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}
