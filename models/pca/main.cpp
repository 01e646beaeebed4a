#include "models/pca/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::pca_benchmark(), argc, argv);
}
