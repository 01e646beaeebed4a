#include "kernels/conv/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::ConvBenchmark(), argc, argv);
}
