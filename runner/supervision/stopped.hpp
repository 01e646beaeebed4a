#pragma once
// Finds the stopped processes for which a job waits.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// A process that a signal has stopped (SIGSTOP, a debugger).
struct Stopped {
  int process = 0;
  std::string rank;  ///< from its launcher; empty if it has none
  std::string host;
};

/// The process ids of the descendants of this process.
std::vector<int> descendants();

/// The stopped processes of this host that are descendants of this process or, if `word` is not
/// empty, that have `word` as an argument of their command.
std::vector<Stopped> stopped_here(const std::string& word = "");

/// The command that starts `assay stopped` beside the running job. srun gets a flag to overlap with
/// the job, since it would otherwise wait for its end.
std::vector<std::string> asking(std::vector<std::string> launcher,
                                const std::filesystem::path& assay, const std::string& word);

/// Starts `assay stopped` on all hosts of a job by the job's launcher, to find stopped processes
/// with `word` in their command. `unknown` receives a message if there is no answer within ten
/// seconds.
std::vector<Stopped> stopped_anywhere(const std::vector<std::string>& launcher,
                                      const std::filesystem::path& assay, const std::string& word,
                                      const std::filesystem::path& scratch,
                                      const std::vector<std::string>& rank_hosts,
                                      std::string& unknown);

/// "rank 1 (process 4711 on HOST) is stopped" for each process, without repetition; "" if there is
/// none. `rank_hosts`: the hosts that the ranks reported; they replace the host in `stopped`.
std::string text_of(std::vector<Stopped> stopped, const std::vector<std::string>& rank_hosts);

}  // namespace assay
