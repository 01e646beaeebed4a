#include "kernels/convert/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::convert_benchmark(), argc, argv);
}
