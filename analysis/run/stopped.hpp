#pragma once
// Who keeps a job waiting.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// A process that a signal has stopped (SIGSTOP, a debugger).
struct Stopped {
  int process = 0;
  std::string rank;  ///< that its launcher gave it; empty where it has none
  std::string host;
};

/// The processes of this host that this one has started, and those that they have started.
std::vector<int> descendants();

/// Of this host: the stopped processes below this one, or, where `word` is not empty, those that
/// have it among the words of their command.
std::vector<Stopped> stopped_here(const std::string& word = "");

/// The words that start `assay stopped` beside the running job: srun would wait for the job's end
/// unless it is told to overlap it.
std::vector<std::string> asking(std::vector<std::string> launcher,
                                const std::filesystem::path& assay, const std::string& word);

/// Asks all hosts of a job, by its own launcher, for stopped processes that have `word` in their
/// command (`assay stopped`); what did not answer within ten seconds is told in `unknown`.
std::vector<Stopped> stopped_anywhere(const std::vector<std::string>& launcher,
                                      const std::filesystem::path& assay, const std::string& word,
                                      const std::filesystem::path& scratch,
                                      const std::vector<std::string>& rank_hosts,
                                      std::string& unknown);

/// "rank 1 (process 4711 on HOST) is stopped", each once; "" for none. A rank's host is the one
/// that it has told itself, where it has.
std::string text_of(std::vector<Stopped> stopped, const std::vector<std::string>& rank_hosts);

}  // namespace assay
