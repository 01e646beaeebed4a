#include "kernels/linalg/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::linalg_benchmark(), argc, argv);
}
