// ratio: mpi's own allreduce of 16 MiB fp32 on 2 ranks over shared_memory's
// target: >= 2
// pairs: 30

#include "tests/self_benchmark/support/allreduce_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  return self_benchmark::main_on_two_ranks(
      argc, argv, [](self_benchmark::MpiRanks& ranks, int pairs) -> nlohmann::json {
        const auto library = ranks.algorithm("library"), ours = ranks.algorithm("shared_memory");
        return {
            {"pairs", self_benchmark::allreduce_pairs(*ranks, *library, *ours, 16 << 20, pairs)},
            {"unit", "s"},
            {"note", "out of place, 3 calls a side"}};
      });
}
