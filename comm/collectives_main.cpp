#include "comm/collectives_benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::CollectivesBenchmark(), argc, argv);
}
