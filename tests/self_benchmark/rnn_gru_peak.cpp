// ratio: native forward inference of gru_lbr:1024-64-1500, linear, fp32, over the measured peak
// target: >= 0.85
// or: rnn_gru_forward
// pairs: 6
// The other bound of the ratios to oneDNN and PyTorch, whose alternative it is.

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::native_over_peak(argc, argv, "gru_lbr:1024-64-1500");
}
