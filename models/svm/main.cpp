#include "models/svm/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::svm_benchmark(), argc, argv);
}
