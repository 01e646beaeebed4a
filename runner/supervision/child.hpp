#pragma once
// One benchmark process: started in its own process group, killed when this process ends, and
// killed together with all processes that it started.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// How a process ended.
struct Ended {
  bool signalled = false;
  int code = 0;  ///< exit code, or the signal's number
  /// "killed by signal 11 (Segmentation fault)" or "ended with exit code 3".
  std::string text() const;
};

/// A log that becomes longer than most_log_bytes is cut to kept_log_bytes of its beginning and of
/// its end (Child::poll), so that the output of a process cannot fill the disk with the results.
inline constexpr long most_log_bytes = 64L << 20, kept_log_bytes = 8L << 20;

class Child final {
 public:
  /// Starts `command` (found along PATH) with stdout and stderr into files. InputError if it cannot
  /// be started. Must be called by a thread that lives as long as the child, since the kernel kills
  /// the child when that thread ends.
  Child(const std::vector<std::string>& command, const std::filesystem::path& out,
        const std::filesystem::path& err);
  /// Kills what is left.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// How the process ended, or nothing while it runs.
  std::optional<Ended> poll();
  /// Sends SIGKILL to the group and to every orphan that this process adopted from it. With `grace`
  /// above 0, SIGTERM is sent first, and so much time given: a launcher like mpirun then ends its
  /// ranks on other nodes, which signals of this process do not reach.
  Ended kill(std::chrono::milliseconds grace);

 private:
  pid_t pid_ = -1;
  std::optional<Ended> ended_;
  std::vector<std::filesystem::path> logs_;
};

/// Blocks the signals that wait_for_signal() handles, so that none ends this process in the middle
/// of writing a line, and makes this process adopt orphans. To be called once, before the first
/// Child.
void prepare_parent();

/// Sleeps until a child ends, a signal asks this process to end, or `longest` is over. Returns the
/// signal (SIGINT, SIGTERM, SIGHUP), or 0.
int wait_for_signal(std::chrono::milliseconds longest);

/// The text in a log after the last end_of_case (core/base/standard_streams.hpp), at most its last
/// MiB.
std::string log_of_case(const std::filesystem::path& file);

/// The last lines of this text, at most `bytes`, with control characters replaced: for the reason
/// of a row.
std::string tail_of(const std::filesystem::path& file, std::size_t bytes = 600);

/// Runs a command to its end and returns its stdout. `error` receives the tail of its stderr,
/// `ended` how it ended. `scratch`: prefix of the names of two temporary files.
std::string output_of(const std::vector<std::string>& command, const std::filesystem::path& scratch,
                      std::chrono::milliseconds timeout, Ended& ended, std::string& error);

}  // namespace assay
