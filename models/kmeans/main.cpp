#include "models/kmeans/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::kmeans_benchmark(), argc, argv);
}
