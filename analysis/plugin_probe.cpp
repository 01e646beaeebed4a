#include "analysis/plugin_probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>

namespace assay {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

/// In the child: opens the plugin and writes what came of it.
[[noreturn]] void report(Plugins& plugins, const std::string& name, int answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  const PluginStatus status = plugins.status(name);
  json found = {{"file", status.file.string()},
                {"available", status.available},
                {"reason", status.reason},
                {"software", json::object()}};
  if (status.available) found["software"] = std::get<Backend*>(plugins.open(name))->software();
  const std::string text = found.dump(-1, ' ', false, json::error_handler_t::replace);
  const bool written = write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

/// All that comes until the other side closes; nothing if that takes longer than `limit`.
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

PluginProbe probe_plugin(Plugins& plugins, const std::string& name,
                         std::chrono::milliseconds limit) {
  PluginProbe probe{{name, {}, false, "cannot be tried (no process could be started)"}};
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return probe;
  std::cout << std::flush;  // or the child would hold a copy of it
  const pid_t child = fork();
  if (child == 0) report(plugins, name, ends[1]);
  close(ends[1]);
  const std::optional<std::string> text =
      child > 0 ? read_within(ends[0], limit) : std::optional<std::string>("");
  close(ends[0]);
  if (child < 0) return probe;
  if (!text) kill(child, SIGKILL);
  int end = 0;
  while (waitpid(child, &end, 0) < 0 && errno == EINTR) {
  }
  if (!text) {
    probe.status.reason =
        fmt::format("did not start within {:g} s", std::chrono::duration<double>(limit).count());
    return probe;
  }
  const json found = json::parse(*text, nullptr, false);
  if (found.is_object()) {
    probe.status = {name, found.at("file").get<std::string>(), found.at("available"),
                    found.at("reason")};
    probe.software = found.at("software");
    return probe;
  }
  probe.status.reason =
      WIFSIGNALED(end)
          ? fmt::format("ends the process that opens it by signal {} ({})", WTERMSIG(end),
                        strsignal(WTERMSIG(end)))
          : fmt::format("ends the process that opens it with exit code {}", WEXITSTATUS(end));
  return probe;
}

}  // namespace assay
