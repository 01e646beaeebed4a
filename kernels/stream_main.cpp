#include "kernels/stream_benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::StreamBenchmark(), argc, argv);
}
