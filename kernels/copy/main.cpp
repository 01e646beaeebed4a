#include "kernels/copy/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::copy_benchmark(), argc, argv);
}
