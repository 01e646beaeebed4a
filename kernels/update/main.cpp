#include "kernels/update/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::update_benchmark(), argc, argv);
}
