#include "kernels/sum/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::sum_benchmark(), argc, argv);
}
