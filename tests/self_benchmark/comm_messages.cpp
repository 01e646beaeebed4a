// ratio: mpi's own allreduce over ring's and halving_doubling's, 2 ranks, 4 to 64 MiB, the worst
// target: >= 0.9
// statistic: max
// pairs: 30

#include "tests/self_benchmark/support/allreduce_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  return self_benchmark::main_on_two_ranks(
      argc, argv, [](self_benchmark::MpiRanks& ranks, int pairs) -> nlohmann::json {
        const auto library = ranks.algorithm("library");
        nlohmann::json all = nlohmann::json::array();
        std::string note;
        for (const char* name : {"ring", "halving_doubling"}) {
          const auto ours = ranks.algorithm(name);
          for (const std::int64_t mib : {4, 16, 64}) {
            const double ratio = self_benchmark::median_ratio(
                self_benchmark::allreduce_pairs(*ranks, *library, *ours, mib << 20, pairs));
            all.push_back({ratio, 1});
            note += (note.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(mib) +
                    " MiB " + std::to_string(ratio);
          }
        }
        return {{"pairs", all}, {"unit", "1"}, {"note", note}};
      });
}
