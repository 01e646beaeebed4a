#include "kernels/pixel_loss/benchmark.hpp"

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::pixel_loss_benchmark(), argc, argv);
}
