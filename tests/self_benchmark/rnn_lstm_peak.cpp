// ratio: native forward inference of lstm:1024-64-25, linear, fp32, over the measured peak
// target: >= 0.85
// or: rnn_lstm_forward
// pairs: 20
// The other bound of the ratios to oneDNN and PyTorch, whose alternative it is.

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::native_over_peak(argc, argv, "lstm:1024-64-25");
}
