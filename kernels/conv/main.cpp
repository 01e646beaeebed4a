#include "kernels/conv/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::conv_benchmark(), argc, argv);
}
