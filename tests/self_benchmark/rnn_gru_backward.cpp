// ratio: oneDNN's over native gradients of data and weights, gru_lbr:1024-64-375, linear, fp32
// target: >= 1.0
// pairs: 6
// A quarter of DeepBench's 1500 steps, each of which is the same work: the states of 1500 would
// take about 12 GB on both sides, and their verification minutes.

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::onednn_over_native(argc, argv, "gru_lbr:1024-64-375", "bwd");
}
