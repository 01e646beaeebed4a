// ratio: the faster MPI's allreduce (16 MiB fp32) over shared_memory's, the worst of 12 launches
// target: >= 1
// statistic: max
// pairs: 12
// Two ranks, ordinary buffers. Each launch chooses by measurement how results are written.

#include "tests/self_benchmark/support/allreduce_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::self_benchmark;
  // Started by mpirun, it measures one launch.
  if (read_launch_info().size != 1) return main_of_shared_memory(argc, argv, false);
  return print([&]() -> nlohmann::json {
    char pairs[] = "--pairs", of_launch[] = "12";
    char* words[] = {argv[0], pairs, of_launch};
    nlohmann::json ratios = nlohmann::json::array();
    for (int launch = 0; launch < std::max(pairs_from(argc, argv), 12); ++launch) {
      const nlohmann::json told = against_the_faster_mpi(3, words);
      if (told.contains("skip")) return told;
      ratios.push_back({median_ratio(told["pairs"]), 1});
    }
    return {{"pairs", ratios}, {"unit", "1"}, {"note", "each the median of 12 pairs"}};
  });
}
