#include "core/base/trial.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

namespace assay {

namespace {

using Clock = std::chrono::steady_clock;

/// The child runs the body and writes its answer.
[[noreturn]] void report(const std::function<std::string()>& body, int answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  const std::string text = body() + '\n';
  const bool written = write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

/// The text until the other side closes; nothing if that takes longer than `limit`.
std::optional<std::string> read_within(int descriptor, std::chrono::milliseconds limit) {
  std::string text;
  char block[4096];
  const Clock::time_point end = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd wait{descriptor, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return text;
    if (ready <= 0) continue;
    const ssize_t count = read(descriptor, block, sizeof block);
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
    if (count > 0) text.append(block, static_cast<std::size_t>(count));
  }
}

}  // namespace

Trial try_in_child(const std::function<std::string()>& body, std::chrono::milliseconds limit) {
  Trial trial{std::nullopt, "cannot be tried (no process could be started)", false};
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return trial;
  std::cout << std::flush;  // or the child would hold a copy of it
  const pid_t child = fork();
  if (child == 0) report(body, ends[1]);
  close(ends[1]);
  const std::optional<std::string> text =
      child > 0 ? read_within(ends[0], limit) : std::optional<std::string>("");
  close(ends[0]);
  if (child < 0) return trial;
  trial.started = true;
  if (!text) kill(child, SIGKILL);
  int end = 0;
  while (waitpid(child, &end, 0) < 0 && errno == EINTR) {
  }
  if (!text)
    trial.reason =
        fmt::format("did not start within {:g} s", std::chrono::duration<double>(limit).count());
  else if (text->ends_with('\n'))  // whole
    trial = {text->substr(0, text->size() - 1), "", true};
  else if (WIFSIGNALED(end))
    trial.reason = fmt::format("ends the process that opens it by signal {} ({})", WTERMSIG(end),
                               strsignal(WTERMSIG(end)));
  else
    trial.reason =
        fmt::format("ends the process that opens it with exit code {}", WEXITSTATUS(end));
  return trial;
}

bool memory_is_limited() {
  return std::ranges::any_of(std::initializer_list{RLIMIT_AS, RLIMIT_DATA}, [](auto which) {
    rlimit limit{};
    return ::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  });
}

std::string why_not_loadable(const std::string& file) {
  if (!memory_is_limited()) return "";
  constexpr std::chrono::seconds limit{60};  // large libraries on a slow file system
  const Trial trial = try_in_child(
      [&] {
        dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // its error is reported by the real call
        return std::string();
      },
      limit);
  if (trial.answer || !trial.started) return "";
  return fmt::format("{} {} under the limit of memory (ulimit -v, -d). Raise the limit", file,
                     trial.reason);
}

}  // namespace assay
