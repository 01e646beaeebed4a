#include "runner/supervision/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <set>

#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/standard_streams.hpp"
#include "core/base/text.hpp"
#include "core/result/journal.hpp"
#include "runner/supervision/process_table.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// The signals of wait_for_signal(). A signal that was ignored when this process started (nohup, a
/// shell's background job) stays ignored. Blocking it would make it pending, and so undo that.
const sigset_t& watched_signals() {
  static const sigset_t set = [] {
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&all, number);
    }
    return all;
  }();
  return set;
}

ProcessEnd decode_status(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

/// This code runs between fork and exec, so it makes only async-signal-safe calls. Reports errno
/// through `report` if exec fails.
[[noreturn]] void become(char* const* arguments, int out, int err, int report, pid_t parent) {
  setpgid(0, 0);
  // If the parent dies, the child dies, too: no benchmark may continue unwatched beside the next
  // run. The parent may have died before this call took effect; the child's parent is then another
  // process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  // SIGXFSZ stays ignored, so that a journal at the file size limit gives an error that can be
  // reported, instead of a signal.
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvp(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

FileDescriptor open_log(const fs::path& file) {
  // Creates a new file, because an earlier one may be a link to other data. Pipes and devices are
  // written as they are.
  std::error_code missing;
  const auto type = fs::symlink_status(file, missing).type();
  if (type == fs::file_type::regular || type == fs::file_type::symlink) unlink(file.c_str());
  // O_APPEND: output after limit_log has cut the file goes to its new end.
  const int number =
      open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (number < 0)
    throw InputError(fmt::format("cannot write {} ({}). Choose another folder with --out.",
                                 file.string(), std::strerror(errno)));
  return FileDescriptor(number);
}

/// Removes the middle of a log that has become too long; its beginning and end stay. While its
/// process runs, the file keeps its length and gets a hole, so that no output is lost meanwhile. If
/// the file system has no holes, or when the process has ended, the middle is cut out.
void limit_log(const fs::path& file, bool over) {
  struct stat state {};
  constexpr long block = 512;  // the unit of st_blocks
  // A pipe or a device that was given as the log takes no disk space.
  if (stat(file.c_str(), &state) != 0 || !S_ISREG(state.st_mode) ||
      state.st_size <= most_log_bytes || (!over && state.st_blocks * block <= most_log_bytes))
    return;
  const FileDescriptor opened(open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  const int descriptor = opened.number();
  if (descriptor < 0) return;
  const off_t tail_start = state.st_size - kept_log_bytes;
  if (over || fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kept_log_bytes,
                        tail_start - kept_log_bytes) != 0) {
    std::string tail(static_cast<std::size_t>(kept_log_bytes), '\0');
    const ssize_t got = pread(descriptor, tail.data(), tail.size(), tail_start);
    tail.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    tail.insert(
        0, fmt::format("\n[assay: {} bytes were cut out here]\n", tail_start - kept_log_bytes));
    if (ftruncate(descriptor, kept_log_bytes) == 0) {
      [[maybe_unused]] const ssize_t written = write(descriptor, tail.data(), tail.size());
    }
  }
}

/// The processes of all children that have not ended.
std::set<pid_t>& watched_children() {
  static std::set<pid_t> all;
  return all;
}

/// Direct children of this process, as the kernel lists them (empty if it does not).
std::vector<pid_t> children() {
  std::vector<pid_t> all;
  std::error_code missing;
  for (const auto& task : fs::directory_iterator("/proc/self/task", missing)) {
    std::ifstream list(task.path() / "children");
    all.insert(all.end(), std::istream_iterator<pid_t>(list), std::istream_iterator<pid_t>());
  }
  return all;
}

/// Processes without a watcher: this process has adopted them from a child that has ended.
std::vector<pid_t> orphans() {
  std::vector<pid_t> all = children();
  std::erase_if(all, [](pid_t pid) { return watched_children().contains(pid); });
  return all;
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signalled) return fmt::format("killed by signal {} ({})", code, strsignal(code));
  return fmt::format("ended with exit code {}", code);
}

void prepare_parent() {
  sigprocmask(SIG_BLOCK, &watched_signals(), nullptr);
  signal(SIGXFSZ, SIG_IGN);  // a full file becomes an error of write()
  survive_leaving_reader();  // closing the terminal must not lose a run
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int wait_for_signal(std::chrono::milliseconds longest) {
  const timespec limit{static_cast<time_t>(longest.count() / 1000),
                       static_cast<long>(longest.count() % 1000) * 1000000};
  const int number = sigtimedwait(&watched_signals(), nullptr, &limit);
  return number > 0 && number != SIGCHLD ? number : 0;
}

Child::Child(const std::vector<std::string>& command, const fs::path& out, const fs::path& err)
    : logs_{out, err} {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const FileDescriptor out_file = open_log(out), err_file = open_log(err);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  const FileDescriptor answer(report[0]);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(arguments.data(), out_file.number(), err_file.number(), report[1], parent);
  const int fork_error = errno;
  close(report[1]);
  int error = 0;
  // Ends without data when exec has closed the other side.
  const ssize_t got = pid_ < 0 ? 0 : read(answer.number(), &error, sizeof error);
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
  if (got == static_cast<ssize_t>(sizeof error)) {
    waitpid(pid_, nullptr, 0);
    throw InputError(
        fmt::format("cannot start {} ({}). Install it and put it into PATH, or, if it is the "
                    "launcher's, correct --launcher.",
                    command.front(), std::strerror(error)));
  }
  watched_children().insert(pid_);
  setpgid(pid_, pid_);  // both sides do it, because either may run first
}

Child::~Child() {
  if (!ended_) kill(std::chrono::milliseconds(0));
  watched_children().erase(pid_);
}

std::optional<ProcessEnd> Child::poll() {
  if (ended_) return ended_;
  int status = 0;
  const pid_t got = waitpid(pid_, &status, WNOHANG);
  if (got == pid_) ended_ = decode_status(status);
  for (const fs::path& log : logs_) limit_log(log, ended_.has_value());
  return ended_;
}

ProcessEnd Child::kill(std::chrono::milliseconds grace) {
  if (grace.count() > 0 && !poll()) {
    ::kill(-pid_, SIGTERM);
    const auto end = std::chrono::steady_clock::now() + grace;
    while (!poll() && std::chrono::steady_clock::now() < end) {
      timespec pause{0, 20'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  ::kill(-pid_, SIGKILL);
  if (!ended_) {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    ended_ = decode_status(status);
  }
  for (const fs::path& log : logs_) limit_log(log, true);
  // This process adopts orphans, so processes that had left the group (ranks of a launcher) are its
  // children now.
  watched_children().erase(pid_);
  for (auto left = orphans(); !left.empty(); left = orphans())
    for (const pid_t orphan : left) {
      ::kill(orphan, SIGKILL);
      waitpid(orphan, nullptr, 0);
    }
  return *ended_;
}

std::string log_of_case(const fs::path& file) {
  constexpr std::size_t most = 1 << 20;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return "";
  const auto size = static_cast<std::size_t>(stream.tellg());
  stream.seekg(static_cast<std::streamoff>(size > most ? size - most : 0));
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (const std::size_t mark = text.rfind(end_of_case); mark != std::string::npos)
    text.erase(0, mark + 1);
  return text;
}

namespace {

/// True if both lines are an MPI library's ("[host:process] ...") and differ only in numbers. Open
/// MPI writes one for every message that a dead rank can no longer take.
bool is_repeated(const std::string& line, const std::string& next) {
  const auto without_digits = [](std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  };
  return line.starts_with('[') && without_digits(line) == without_digits(next);
}

}  // namespace

std::string read_tail(const fs::path& file, std::size_t bytes) {
  std::vector<std::string> lines;
  for (std::string& line : split(log_of_case(file), '\n')) {
    // The message that a rank was ended with its job does not tell why the job ended.
    if (line.ends_with(ended_by_signal)) continue;
    if (!lines.empty() && is_repeated(lines.back(), line)) lines.pop_back();
    lines.push_back(std::move(line));
  }
  std::string text = join(lines, "\n");
  const bool cut = text.size() > bytes;
  if (cut) {
    text.erase(0, text.size() - bytes);
    text.erase(0,
               text.find_first_of(" \n") == std::string::npos ? 0 : text.find_first_of(" \n") + 1);
  }
  // Reasons go into JSON, where characters other than printable ASCII (a cut UTF-8 sequence,
  // colours) would break the row.
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code == '\n')
      line += line.empty() || line.ends_with("; ") ? "" : "; ";
    else
      line += code < 128 && std::isprint(code) ? c : '?';
  }
  while (line.ends_with(' ') || line.ends_with(';')) line.pop_back();
  return (cut && !line.empty() ? "... " : "") + line;
}

bool wait_for_end(std::list<Child>& children, std::optional<std::chrono::milliseconds> limit,
                  std::chrono::milliseconds grace, const std::function<void()>& watch) {
  const auto start = std::chrono::steady_clock::now();
  const auto kill_all = [&] {
    for (Child& child : children) child.kill(grace);
  };
  constexpr std::chrono::milliseconds interval(100);
  while (!std::ranges::all_of(children, [](Child& child) { return child.poll().has_value(); })) {
    if (const int number = wait_for_signal(interval)) {
      kill_all();
      throw Interruption{number};
    }
    watch();
    if (!limit || std::chrono::steady_clock::now() - start < *limit) continue;
    kill_all();
    return false;
  }
  return true;
}

FinishedCommand finish_command(const std::vector<std::string>& command, const fs::path& scratch,
                               std::chrono::milliseconds limit) {
  const fs::path out = scratch.string() + ".out.txt", err = scratch.string() + ".err.txt";
  std::list<Child> child;
  child.emplace_back(command, out, err);
  if (!wait_for_end(child, limit, std::chrono::milliseconds(0)))
    throw CaseError(
        fmt::format("{} did not answer within {} s. Raise --timeout, or run it by hand.",
                    command.front(), limit.count() / 1000));
  return {readable_text(out), read_tail(err, 2000), *child.front().poll()};
}

}  // namespace assay
