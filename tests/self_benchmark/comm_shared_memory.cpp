// ratio: the faster MPI's own allreduce (16 MiB fp32, 2 ranks) over shared_memory's, registered
// target: >= 2
// pairs: 30
// Buffers are registered memory of shared_memory's, for both sides.

#include "tests/self_benchmark/support/allreduce_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  return self_benchmark::main_against_the_faster_mpi(
      argc, argv, [](self_benchmark::MpiRanks& ranks, int pairs) -> nlohmann::json {
        const auto library = ranks.algorithm("library"), ours = ranks.algorithm("shared_memory");
        return {{"pairs",
                 self_benchmark::allreduce_pairs(*ranks, *library, *ours, 16 << 20, pairs, true)},
                {"unit", "s"},
                {"note", "out of place, both in the same buffers, 3 calls a side"}};
      });
}
