#include "kernels/rnn/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::rnn_benchmark(), argc, argv);
}
