#pragma once
// `assay job`: a suite as a batch job, written for the machine's batch system, and, if wanted,
// submitted and followed to its result.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/launch/launcher.hpp"

namespace assay {

/// What a batch job runs, and what it asks for.
struct Job {
  std::string name;              ///< of the suite
  std::filesystem::path folder;  ///< absolute; the run's, which also holds the script
  ProcessShape shape;            ///< nodes at least
  std::uint64_t seconds = 0;     ///< limit of the job's time
  std::string queue, account;    ///< "": the site's default
  std::string set_up;            ///< lines of a shell before the run (modules)
  std::vector<std::string> run;  ///< the words of `assay run` in the job
};

/// The script that the batch system gets. InputError for a placeholder without a value, and for a
/// launcher without batch jobs.
std::string job_script(const Launcher& launcher, const Job& job);

/// Submits the script and waits until the job has ended. The number of the job. CaseError with what
/// the batch system says; Interrupted. The job goes on if this process ends.
std::string submit_and_follow(const Launcher& launcher, const std::filesystem::path& script,
                              const std::filesystem::path& scratch);

/// A word as a shell reads it as one.
std::string shell_word(const std::string& word);

}  // namespace assay
