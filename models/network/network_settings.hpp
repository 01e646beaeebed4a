#pragma once
// The settings of a program that trains a network, read from the values of its flags.

#include <cstdint>
#include <vector>

#include "core/program/benchmark.hpp"
#include "models/network/training_workload.hpp"

namespace assay {

/// The settings of a case. prepare() completes `run`: seeds, ranks, amounts, claims.
struct NetworkSettings {
  bool inference = false;   ///< else a training
  std::int64_t images = 0;  ///< of a step on all ranks
  std::uint64_t trial = 0;
  TrainingRun run;
};

/// Benchmark::complete, with these dimensions() of `network`.
NetworkSettings read_network(Settings& settings, const RankCount& started,
                             const std::vector<Dimension>& dimensions, Network network);

/// Benchmark::expect_compatible: each training needs its own checkpoint.
void expect_one_training_each(const std::vector<Case>& cases);

}  // namespace assay
