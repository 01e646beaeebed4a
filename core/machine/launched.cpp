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
    if (rank && size && *size > 0 && *rank < *size) return {*rank, *size, dialect.by};
  }
  return {};
}

}  // namespace assay
