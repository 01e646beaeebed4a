#include "kernels/gemm/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::gemm_benchmark(), argc, argv);
}
