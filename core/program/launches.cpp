#include "core/program/launches.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/temporary.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/launched.hpp"
#include "core/program/program_files.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Text on where the finished rows are, and how they become a result. If none is finished, removes
/// the journal and returns "".
std::string tell_where_rows_are(const std::optional<fs::path>& journal) {
  if (!journal) return "";
  const std::vector<json> events = read_journal(*journal);
  if (std::ranges::any_of(events, [](const json& event) { return event.at("event") == "row"; }))
    return describe_rows_location(*journal);
  std::error_code stays;
  fs::remove(*journal, stays);
  return "";
}

/// Blocks the signals with which users end programs; end_if_told() handles them.
class HeldSignals final {
 public:
  HeldSignals() {
    // An inherited SIG_IGN would discard the status of a child.
    std::signal(SIGCHLD, SIG_DFL);
    sigemptyset(&held_);
    sigaddset(&held_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, nullptr, &before_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN &&
          sigismember(&before_, number) == 0)
        sigaddset(&held_, number);
    }
    pthread_sigmask(SIG_BLOCK, &held_, nullptr);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Restores the previous signal mask; also for use in a child process.
  void release() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// Waits until the child has ended, and returns its wait status. A signal to this process ends
  /// the child.
  int wait_for(pid_t child) {
    constexpr timespec moment{0, 100'000'000};
    int status = 0, patience = 50;
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
      // Before a signal arrives, this process sleeps, so it does not disturb the child's timing.
      const int number =
          signal_ == 0 ? sigwaitinfo(&held_, nullptr) : sigtimedwait(&held_, nullptr, &moment);
      if (number > 0 && number != SIGCHLD) kill(child, signal_ = number);
      if (signal_ != 0 && --patience == 0) kill(child, SIGKILL);
    }
    if (ended < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
    return status;
  }

  /// Ends this process by the received signal, if there is one.
  void end_if_told(const std::string& program, const std::optional<fs::path>& journal) const {
    if (signal_ == 0) return;
    if (!tell_where_rows_are(journal).empty()) std::cerr << recovery_note(program, *journal);
    remove_temporaries();
    std::signal(signal_, SIG_DFL);
    release();
    raise(signal_);
  }

 private:
  sigset_t held_{}, before_{};
  int signal_ = 0;
};

/// Runs this executable with other arguments, and returns its wait status.
int status_of_child(const std::string& name, const std::vector<std::string>& arguments,
                    HeldSignals& signals) {
  std::vector<char*> words{const_cast<char*>(name.c_str())};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  std::cout << std::flush;  // else the child would print a copy of it
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    signals.release();
    // A launch must end with the process that collects its rows; this signal lets it remove
    // its temporary files. It may be ignored by inheritance.
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent) execv("/proc/self/exe", words.data());
    _exit(127);
  }
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  return signals.wait_for(child);
}

bool has_ended(const std::vector<json>& events, int launch) {
  return std::any_of(events.begin(), events.end(), [&](const json& event) {
    return event.at("event") == "end" && event.at("launch") == launch;
  });
}

/// The result of all launches: one environment each.
RunResult assemble_result(const std::vector<json>& events, const RunHeader& header) {
  RunResult result = make_result(header);
  for (const json& event : events) {
    const std::string kind = event.at("event");
    if (kind == "launch") {
      event.at("environment").get_to(result.environments.emplace_back());  // launch n is the nth
    } else if (kind == "end") {
      result.environments.back().volatile_after = event.at("volatile");
    } else if (kind == "row") {
      Row& row = result.rows.emplace_back(event.at("row").get<Row>());
      row.environment = static_cast<int>(row.launch);
    }
  }
  return result;
}

/// InputError if --out cannot be used for the rows of several processes.
void check_files(const Benchmark& benchmark, const RunRequest& request) {
  if (request.out.empty()) return;
  check_out(benchmark, request);
  const auto journal = own_journal(request);
  if (!journal)
    throw InputError(
        fmt::format("--out {} cannot collect the rows of several launches (it is not "
                    "a regular file). Name a file.",
                    request.out.string()));
}

}  // namespace

void expect_launches_possible(const RunRequest& request) {
  if (const LaunchInfo start = read_launch_info(); request.launches > 1 && start.size > 1)
    throw InputError(fmt::format(
        "--launches cannot be used under a launcher ({} has started {} processes, and a new launch "
        "is a new start of all of them). Use `assay run SUITE --launches {} --launcher ...`.",
        start.by, start.size, request.launches));
}

std::vector<std::string> launch_arguments(const Benchmark& benchmark, int argc,
                                          const char* const* argv) {
  int exit = -1;
  std::vector<std::string> arguments;
  const auto flags = parse_command(benchmark_command(benchmark), argc, argv, exit);
  if (!flags) return arguments;
  for (const auto& [flag, values] : *flags) {
    if (flag == "launches" || flag == "out") continue;
    arguments.push_back("--" + flag);
    if (const std::string text = join(values, ","); !text.empty()) arguments.push_back(text);
  }
  return arguments;
}

int run_launches(const Benchmark& benchmark, const RunRequest& request,
                 const std::vector<std::string>& arguments, const std::string& command) {
  check_files(benchmark, request);
  const std::string program = "assay-" + benchmark.name();
  const RunHeader header = own_header(benchmark, request, command, format_utc_now());
  const auto journal = own_journal(request);
  HeldSignals signals;
  std::optional<JournalHold> hold;
  if (journal) {
    hold.emplace(*journal);
    // Created with exclusive access; its first line then marks it as taken.
    Journal(*journal, Journal::Writers::one)
        .append(begin_event(header, false, capture_environment()));
  }
  ExitCode code = ExitCode::ok;
  for (int launch = 0; launch < request.launches; ++launch) {
    const std::string name = fmt::format("launch {} of {}", launch + 1, request.launches);
    if (request.talk != Verbosity::quiet) std::cerr << program << ": " << name << std::endl;
    std::vector<std::string> words = arguments;
    words.insert(words.end(), {"--launch", std::to_string(launch)});
    if (journal) words.insert(words.end(), {"--journal", journal->string()});
    const int status = status_of_child(program, words, signals);
    signals.end_if_told(program, journal);
    const bool signalled = WIFSIGNALED(status);
    const auto its_code = static_cast<ExitCode>(signalled ? 0 : WEXITSTATUS(status));
    if (!signalled && its_code == ExitCode::usage) {  // it said why; every launch would
      std::error_code stays;
      if (journal && launch == 0) fs::remove(*journal, stays);
      return static_cast<int>(its_code);
    }
    if (signalled || (journal && !has_ended(read_journal(*journal), launch)))
      throw CaseError(fmt::format("{} {} before its last case.{}", name,
                                  signalled
                                      ? fmt::format("was killed by signal {} ({})",
                                                    WTERMSIG(status), strsignal(WTERMSIG(status)))
                                      : fmt::format("ended with exit code {}", WEXITSTATUS(status)),
                                  tell_where_rows_are(journal)));
    code = find_gravest(code, its_code);
  }
  if (!journal) return static_cast<int>(code);
  write_result(assemble_result(read_journal(*journal), header), request);
  std::error_code stays;
  fs::remove(*journal, stays);
  return static_cast<int>(code);
}

}  // namespace assay
