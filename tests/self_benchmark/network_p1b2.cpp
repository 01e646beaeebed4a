// ratio: PyTorch's{peer} over assay-train's step of CANDLE's P1B2, batch 60, RMSprop, {precision}
// target: >= 1.3
// pairs: 10
// needs: hwy assay_models
// each: "" precision=fp32 peer=
// each: bf16 precision=bf16 peer=
// each: bf16_compiled precision=bf16 peer=" compiled"
// each: compiled precision=fp32 peer=" compiled"

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::print_network_ratio(
      {.network = "candle-p1b2:i28204", .batch = "60", .optimizer = "rmsprop", .samples = 3}, argc,
      argv);
}
