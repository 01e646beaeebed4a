#pragma once
// One benchmark process. It is started in its own process group, and killed when this process ends,
// together with all processes that it started.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// A signal asked this process to end. It is not an error: finished rows are in the journal, and
/// the run can be resumed.
struct Interruption {
  int signal = 0;
};

struct ProcessEnd {
  bool signalled = false;
  int code = 0;  ///< exit code, or the signal's number
  bool is_success() const { return !signalled && code == 0; }
  /// "killed by signal 11 (Segmentation fault)" or "ended with exit code 3".
  std::string text() const;
};

/// A log that becomes longer than most_log_bytes is cut to the first and the last kept_log_bytes
/// (Child::poll), so that the output of a process cannot fill the disk with the results.
inline constexpr long most_log_bytes = 64L << 20, kept_log_bytes = 8L << 20;

class Child final {
 public:
  /// Starts `command` (found along PATH) with stdout and stderr into files. InputError if it cannot
  /// be started. The calling thread must live as long as the child, because the kernel kills the
  /// child when that thread ends.
  Child(const std::vector<std::string>& command, const std::filesystem::path& out,
        const std::filesystem::path& err);
  /// Kills all processes that are left.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// The end of the process; nothing while it runs.
  std::optional<ProcessEnd> poll();
  /// Sends SIGKILL to the group and to every orphan that this process adopted from it. If `grace`
  /// is above 0, first sends SIGTERM, and waits that long: a launcher like mpirun then ends its
  /// ranks on other nodes, which signals of this process do not reach.
  ProcessEnd kill(std::chrono::milliseconds grace);

 private:
  pid_t pid_ = -1;
  std::optional<ProcessEnd> ended_;
  std::vector<std::filesystem::path> logs_;
};

/// Blocks the signals that wait_for_signal() handles, so that none ends this process while it
/// writes a line. Makes this process adopt orphans. Call it once, before the first Child.
void prepare_parent();

/// Sleeps until a child ends, a signal asks this process to end, or `longest` has passed. Returns
/// the signal (SIGINT, SIGTERM, SIGHUP), or 0.
int wait_for_signal(std::chrono::milliseconds longest);

/// Waits until all children have ended. Kills those that run for longer than `limit`, and then
/// returns false. Throws Interruption if a signal asks this process to end; the children have then
/// been killed. `grace`: as for Child::kill. `watch` is called a few times per second.
bool wait_for_end(
    std::list<Child>& children, std::optional<std::chrono::milliseconds> limit,
    std::chrono::milliseconds grace, const std::function<void()>& watch = [] {});

/// The text in a log after the last end_of_case (core/base/standard_streams.hpp), limited to the
/// last MiB.
std::string log_of_case(const std::filesystem::path& file);

/// The last lines of this text, at most `bytes`, with control characters replaced: for the reason
/// of a row.
std::string read_tail(const std::filesystem::path& file, std::size_t bytes = 600);

/// A command that has ended, and its output.
struct FinishedCommand {
  std::string output;  ///< stdout
  std::string errors;  ///< tail of stderr
  ProcessEnd ended;
  bool failed() const { return !ended.is_success(); }
  /// "ended with exit code 3: no such file".
  std::string how() const { return ended.text() + (errors.empty() ? "" : ": " + errors); }
};
/// Runs a command to its end. `scratch`: prefix of the names of two temporary files. CaseError if
/// it takes longer than `limit`, and InputError if it cannot be started. Throws Interruption.
FinishedCommand finish_command(const std::vector<std::string>& command,
                               const std::filesystem::path& scratch,
                               std::chrono::milliseconds limit);

}  // namespace assay
