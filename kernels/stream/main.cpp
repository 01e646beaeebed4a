#include "kernels/stream/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::stream_benchmark(), argc, argv);
}
