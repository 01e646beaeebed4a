#pragma once
// One benchmark process: started in a process group of its own, tied to the life of this process,
// killed with all it started.

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

/// A log longer than this keeps so much of its beginning and of its end (Child::poll): what a
/// process says must not fill the disk that the rows go to.
inline constexpr long most_log_bytes = 64L << 20, kept_log_bytes = 8L << 20;

class Child final {
 public:
  /// Starts `command` (found along PATH) with stdout and stderr into files. InputError if it cannot
  /// be started. Must be called by the thread that lives as long as the process: the kernel kills
  /// the child when that thread ends.
  Child(const std::vector<std::string>& command, const std::filesystem::path& out,
        const std::filesystem::path& err);
  /// Kills what is left.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// How it ended, or nothing while it runs.
  std::optional<Ended> poll();
  /// SIGKILL to the group and to every orphan that it left to us. With `grace`, SIGTERM first: a
  /// launcher like mpirun then ends its ranks on other nodes, which no signal of ours can reach.
  Ended kill(std::chrono::milliseconds grace);

 private:
  pid_t pid_ = -1;
  std::optional<Ended> ended_;
  std::vector<std::filesystem::path> logs_;
};

/// Blocks the signals that the parent must not die of in the middle of a line, and adopts orphans.
/// Once, before the first Child.
void prepare_parent();

/// Sleeps until a child ends, a signal asks us to end, or `longest` is over. Returns the signal
/// (SIGINT, SIGTERM, SIGHUP), or 0.
int wait_for_signal(std::chrono::milliseconds longest);

/// What a log holds behind the last end_of_case (core/base/standard_streams.hpp), at most its last
/// MiB.
std::string log_of_case(const std::filesystem::path& file);

/// The last lines of a file behind the last end_of_case (core/base/standard_streams.hpp), at most
/// `bytes`, control characters replaced: for the reason of a row.
std::string tail_of(const std::filesystem::path& file, std::size_t bytes = 600);

/// Runs a command to its end and returns its stdout. `error` gets the tail of its stderr, `ended`
/// how it ended.
std::string output_of(const std::vector<std::string>& command, const std::filesystem::path& scratch,
                      std::chrono::milliseconds timeout, Ended& ended, std::string& error);

}  // namespace assay
