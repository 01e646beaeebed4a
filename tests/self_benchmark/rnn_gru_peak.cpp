// ratio: native forward inference of gru_lbr:1024-64-1500, linear, fp32, over the measured peak
// target: >= 0.85
// or: rnn_gru_forward
// pairs: 6
// The other bound of the ratios to oneDNN and PyTorch, whose alternative it is.

#include "kernels/rnn/benchmark.hpp"
#include "kernels/stream/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  return print([&]() -> nlohmann::json {
    TimedOperation native(rnn_benchmark(),
                          {{"problem", "gru_lbr:1024-64-1500"},
                           {"direction", "forward_inference"},
                           {"input", "linear"}},
                          "native/auto");
    TimedOperation fma(stream_benchmark(), {{"problem", "fma"}}, "native/auto");
    return rate_ratio(native, fma, pairs_from(argc, argv));
  });
}
