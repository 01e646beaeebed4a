#include "kernels/activation/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::activation_benchmark(), argc, argv);
}
