#include "models/storage/io_benchmark.hpp"

int main(int argc, char** argv) { return assay::benchmark_main(assay::io_benchmark(), argc, argv); }
