#include "models/resnet50/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::resnet50_benchmark(), argc, argv);
}
