// ratio: PyTorch's over native forward inference, gru_lbr:1024-64-1500 with linear input, fp32
// target: >= 1.15
// or: rnn_gru_peak
// pairs: 6

#include "kernels/rnn/benchmark.hpp"
#include "tests/self_benchmark/support/peer.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&] {
    TimedOperation native(rnn_benchmark(),
                          {{"problem", "gru_lbr:1024-64-1500"},
                           {"direction", "forward_inference"},
                           {"input", "linear"}},
                          "native/auto");
    return peer_ratio({"torch-rnn", "--cell", "gru_lbr", "--hidden", "1024", "--batch", "64",
                       "--steps", "1500", "--threads", pair_threads},
                      native, pairs_from(argc, argv), 1);
  });
}
