#include "core/machine/launched.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace assay {

namespace {

std::optional<int> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

struct Dialect {
  const char *rank, *size, *by;
};

// Launchers nest, and each sets its own variable; the innermost comes first, as below.
constexpr const char* local_ranks[] = {
    "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",          "PMIX_LOCAL_RANK", "SLURM_LOCALID"};

std::optional<int> local_rank() {
  for (const char* variable : local_ranks)
    if (const auto number = number_of(variable)) return number;
  return std::nullopt;
}

// The innermost launcher comes first: a job step of Slurm may start mpirun, never the other way.
constexpr Dialect dialects[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun of Open MPI"},
    {"PMI_RANK", "PMI_SIZE", "a launcher that speaks PMI (MPICH's mpiexec, srun --mpi=pmi2)"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "srun with PMIx"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun without MPI"}};

}  // namespace

Launched launched() {
  for (const Dialect& dialect : dialects) {
    const auto rank = number_of(dialect.rank), size = number_of(dialect.size);
    if (rank && size && *size > 0 && *rank < *size) return {*rank, *size, local_rank(), dialect.by};
  }
  return {};
}

}  // namespace assay
