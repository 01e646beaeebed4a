#pragma once
// The processes of this host in /proc, and those of a job among them.

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace assay {

struct ProcessEntry {
  pid_t parent = 0;
  char state = ' ';     ///< 'T' and 't': stopped; 'Z': ended
  std::string start{};  ///< clock ticks since the boot; "" if there is no such process
};
ProcessEntry process_at(pid_t number);
/// All visible processes, by number.
std::map<pid_t, ProcessEntry> visible_processes();

/// The content of a file; "" if it cannot be read.
std::string readable_text(const std::filesystem::path& file);

/// The name of this host.
std::string host_here();

/// A process that a signal has stopped (SIGSTOP, a debugger).
struct StoppedProcess {
  int process = 0;
  std::string rank;  ///< from its launcher; empty if it has none
  std::string host;
};

/// The process ids of the descendants of this process.
std::vector<int> descendants();

/// The stopped processes of this host that are descendants of this process. If `word` is not empty:
/// those that have `word` as an argument of their command.
std::vector<StoppedProcess> find_stopped_here(const std::string& word = "");

/// The command that starts `assay stopped` beside the running job. srun gets a flag to overlap with
/// the job, because it would otherwise wait for the job's end.
std::vector<std::string> asking(std::vector<std::string> launcher,
                                const std::filesystem::path& assay, const std::string& word);

/// Starts `assay stopped` on all hosts of a job by the job's launcher, to find stopped processes
/// with `word` in their command. `unknown` receives a message if there is no answer within ten
/// seconds.
std::vector<StoppedProcess> find_stopped_anywhere(const std::vector<std::string>& launcher,
                                                  const std::filesystem::path& assay,
                                                  const std::string& word,
                                                  const std::filesystem::path& scratch,
                                                  const std::vector<std::string>& rank_hosts,
                                                  std::string& unknown);

/// "rank 1 (process 4711 on HOST) is stopped" for each process, without repetition; "" if there is
/// none. `rank_hosts`: the hosts that the ranks reported; they replace the host in `stopped`.
std::string to_text(std::vector<StoppedProcess> stopped,
                    const std::vector<std::string>& rank_hosts);

/// Removes segments that MPI libraries have left. They remove their segments themselves, unless
/// their processes are killed. A segment of this host is removed only if it did not exist before
/// the job, was mapped by a process of the job, and is mapped by no process after the end of the
/// job.
class LeftSegments final {
 public:
  /// Create it before the job is started.
  LeftSegments();
  /// Records the segments that the descendants of this process have mapped. Call it before these
  /// are killed.
  void look();
  /// Removes the remaining segments, and returns their names. Call it when the processes are dead.
  std::vector<std::string> remove() const;

 private:
  std::set<std::string> before_, mapped_;  ///< names in /dev/shm
};

}  // namespace assay
