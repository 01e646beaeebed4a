#include "kernels/concat/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::concat_benchmark(), argc, argv);
}
