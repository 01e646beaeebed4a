// ratio: PyTorch's over native forward inference, lstm:1024-64-25 with linear input, fp32
// target: >= 1.15
// or: rnn_lstm_peak
// pairs: 20

#include "tests/self_benchmark/support/rnn_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::pytorch_over_native(argc, argv, "lstm:1024-64-25", 3);
}
