#include "kernels/resize/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::resize_benchmark(), argc, argv);
}
