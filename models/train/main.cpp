#include "models/train/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::train_benchmark(), argc, argv);
}
