#include "kernels/loss/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::loss_benchmark(), argc, argv);
}
