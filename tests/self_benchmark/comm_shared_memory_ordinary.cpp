// ratio: the faster MPI's own allreduce (16 MiB fp32, 2 ranks) over shared_memory's, ordinary
// target: >= 2
// pairs: 30
// Buffers are ordinary memory.

#include "tests/self_benchmark/support/allreduce_pairs.hpp"

int main(int argc, char** argv) {
  return assay::self_benchmark::main_of_shared_memory(argc, argv, false);
}
