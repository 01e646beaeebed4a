#include "kernels/norm/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::norm_benchmark(), argc, argv);
}
