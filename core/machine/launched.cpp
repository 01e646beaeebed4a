#include "core/machine/launched.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"

namespace assay {

namespace {

std::optional<int> read_number(const char* variable) {
  const char* text = std::getenv(variable);
  const auto number = text == nullptr ? std::nullopt : parse_number<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
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
    if (const auto number = read_number(variable)) return number;
  return std::nullopt;
}

// The innermost launcher comes first: a job step of Slurm may start mpirun, never the other way.
constexpr Dialect dialects[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun of Open MPI"},
    {"PMI_RANK", "PMI_SIZE", "a launcher that speaks PMI (MPICH's mpiexec, srun --mpi=pmi2)"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "srun with PMIx"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun without MPI"}};

/// The "variables" of a launcher's file.
nlohmann::json read_variables(const std::filesystem::path& file) {
  const auto launcher =
      nlohmann::json::parse(read_text_file(file, largest_hand_written), nullptr, false);
  if (!launcher.is_object())
    throw InputError(file.string() +
                     ": is not a valid launcher (a JSON object was expected), so it is unknown "
                     "whether it has started this process. Mend or remove it.");
  return launcher.value("variables", nlohmann::json::object());
}

/// Reads a launcher that only a site's file describes (scripts/launchers/<name>.json).
std::optional<LaunchInfo> by_file(const std::filesystem::path& file) {
  const nlohmann::json variables = read_variables(file);
  const auto value = [&](const char* what) {
    return read_number(variables.value(what, std::string()).c_str());
  };
  const auto rank = value("rank"), size = value("size");
  if (!rank || !size || *size <= 0 || *rank >= *size) return std::nullopt;
  return LaunchInfo{*rank, *size, value("local_rank"), file.stem().string()};
}

std::vector<std::filesystem::path> launcher_files() {
  std::vector<std::filesystem::path> files;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(data_folder("scripts/launchers")))
      if (entry.path().extension() == ".json") files.push_back(entry.path());
  } catch (const InputError&) {  // none are installed
  }
  return files;
}

LaunchInfo by_files() {
  for (const std::filesystem::path& file : launcher_files())
    if (const auto launched = by_file(file)) return *launched;
  return {};
}

std::vector<std::string> variables_of_files() {
  std::vector<std::string> names;
  for (const std::filesystem::path& file : launcher_files()) {
    const nlohmann::json variables = read_variables(file);
    for (const auto& [what, variable] : variables.items()) names.push_back(variable);
  }
  return names;
}

/// Prefixes of all variables that launchers and batch systems set for their processes and the MPI
/// of these. OMPI_MCA_ as a whole is not included, because users set parameters by it.
constexpr const char* prefixes[] = {"OMPI_COMM_WORLD_",
                                    "OMPI_UNIVERSE",
                                    "OMPI_APP",
                                    "OMPI_FILE",
                                    "OMPI_FIRST",
                                    "OMPI_NUM",
                                    "OMPI_COMMAND",
                                    "OMPI_ARGV",
                                    "OMPI_MCA_ess",
                                    "OMPI_MCA_orte",
                                    "OMPI_MCA_pmix",
                                    "OMPI_MCA_schizo",
                                    "PMI_",
                                    "PMI2_",
                                    "PMIX_",
                                    "PRTE_",
                                    "MPI_LOCAL",
                                    "HYDRA_",
                                    "HYDI_",
                                    "PALS_",
                                    "SLURM_",
                                    "PBS_",
                                    "LSB_",
                                    "JSM_",
                                    "PJM_"};

void forget_matching(const std::string& beginning) {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (text.starts_with(beginning)) names.push_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace

void forget_launcher() {
  for (const char* prefix : prefixes) forget_matching(prefix);
  for (const std::string& variable : variables_of_files()) unsetenv(variable.c_str());
}

LaunchInfo read_launch_info() {
  for (const Dialect& dialect : dialects) {
    const auto rank = read_number(dialect.rank), size = read_number(dialect.size);
    if (rank && size && *size > 0 && *rank < *size) return {*rank, *size, local_rank(), dialect.by};
  }
  return by_files();
}

}  // namespace assay
