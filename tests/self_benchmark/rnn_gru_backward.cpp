// ratio: oneDNN's over native gradients of data and weights, gru_lbr:1024-64-375, linear, fp32
// target: >= 1.0
// pairs: 6
// A quarter of DeepBench's 1500 steps, each of which is the same work: the states of 1500 would
// take about 12 GB on both sides, and their verification minutes.

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    OperationPair pair(
        rnn_benchmark(),
        {{"problem", "gru_lbr:1024-64-375"}, {"direction", "bwd"}, {"input", "linear"}},
        "onednn/auto", "native/auto");
    return operation_ratio(pair, pairs_from(argc, argv), 1);
  });
}
