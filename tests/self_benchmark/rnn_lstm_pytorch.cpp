// ratio: PyTorch's over native forward inference, lstm:1024-64-25 with linear input, fp32
// target: >= 1.15
// or: rnn_lstm_peak
// pairs: 20

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/peer.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    TimedOperation native(
        rnn_benchmark(),
        {{"problem", "lstm:1024-64-25"}, {"direction", "forward_inference"}, {"input", "linear"}},
        "native/auto");
    return peer_ratio({"torch-rnn", "--cell", "lstm", "--hidden", "1024", "--batch", "64",
                       "--steps", "25", "--threads", pair_threads},
                      native, pairs_from(argc, argv), 3);
  });
}
