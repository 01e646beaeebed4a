#include "models/storage/benchmark.hpp"

int main(int argc, char** argv) { return assay::benchmark_main(assay::io_benchmark(), argc, argv); }
