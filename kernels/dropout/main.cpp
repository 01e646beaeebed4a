#include "kernels/dropout/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::dropout_benchmark(), argc, argv);
}
