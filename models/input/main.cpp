#include "models/input/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::input_benchmark(), argc, argv);
}
