#pragma once
// `assay job`: writes a batch script that runs a suite, for the machine's batch system. On request
// it submits the script and waits for the result.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runner/launch/launcher.hpp"

namespace assay {

/// A batch job: the command that it runs, and the resources that it requests.
struct Job {
  std::string name;              ///< of the suite: a plain_name()
  std::filesystem::path start;   ///< folder in which the run is started
  std::filesystem::path folder;  ///< folder of the run, absolute; also contains the script
  ProcessShape shape;            ///< at least its nodes are set
  std::uint64_t seconds = 0;     ///< time limit of the job
  std::string queue, account;    ///< "": the site's default
  std::string set_up;            ///< shell commands before the run (modules)
  std::vector<std::string> run;  ///< `assay run` and its arguments
};

/// The batch script. InputError for a placeholder without a value, for a launcher without batch
/// jobs, and for a folder whose name a directive cannot contain.
std::string make_job_script(const Launcher& launcher, const Job& job);

/// Submits the script, waits until the job has ended, and returns the number of the job. CaseError
/// with the message of the batch system. Interrupted on a signal; the job then continues.
std::string submit_and_follow(const Launcher& launcher, const std::filesystem::path& script,
                              const std::filesystem::path& scratch);

}  // namespace assay
