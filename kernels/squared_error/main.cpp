#include "kernels/squared_error/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::squared_error_benchmark(), argc, argv);
}
