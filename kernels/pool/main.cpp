#include "kernels/pool/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::pool_benchmark(), argc, argv);
}
