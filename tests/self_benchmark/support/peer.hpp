#pragma once
// Another package's process, which runs once for every line that it reads and answers with seconds.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/self_benchmark/support/operation_pairs.hpp"

namespace assay::self_benchmark {

/// A script of scripts/peers, started with `arguments`. Its first line is {"peer": name}.
class Peer {
 public:
  static constexpr int not_installed = 3;  // exit code of those scripts

  explicit Peer(std::vector<std::string> arguments) {
    const char* const root = std::getenv("ASSAY_SOURCE_DIR");
    if (root == nullptr) throw std::runtime_error("ASSAY_SOURCE_DIR is not set.");
    arguments.front() = std::string(root) + "/scripts/peers/" + arguments.front();
    std::array<int, 2> to{}, from{};
    if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("there is no pipe.");
    process_ = fork();
    if (process_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      std::vector<char*> words;
      for (std::string& word : arguments) words.push_back(word.data());
      words.push_back(nullptr);
      execv(words.front(), words.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = fdopen(from[0], "r");
    if (const auto first = line()) {
      name_ = nlohmann::json::parse(*first).at("peer");
    } else {
      const int code = end();
      if (code != not_installed)
        throw std::runtime_error(fmt::format("{} ended with {}.", arguments.front(), code));
      reason_ = arguments.front() + " has no package to run (scripts/bootstrap --with-peers)";
    }
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { end(); }

  const std::string& reason() const { return reason_; }
  const std::string& name() const { return name_; }

  /// The seconds of one run.
  double run() {
    if (write(in_, "\n", 1) != 1) throw std::runtime_error(name_ + " has ended.");
    const auto answer = line();
    if (!answer) throw std::runtime_error(name_ + " has ended.");
    return std::stod(*answer);
  }

 private:
  std::optional<std::string> line() {
    std::string text;
    for (int c; (c = std::fgetc(out_)) != EOF;) {
      if (c == '\n') return text;
      text += static_cast<char>(c);
    }
    return std::nullopt;
  }
  int end() {
    if (process_ <= 0) return 0;
    close(in_);
    std::fclose(out_);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t process_ = -1;
  int in_ = -1;
  std::FILE* out_ = nullptr;
  std::string name_, reason_;
};

/// The peer's time over that of our operation, `samples` of each a pair, the median of which
/// counts.
inline nlohmann::json peer_ratio(const std::vector<std::string>& script, TimedOperation& ours,
                                 int pairs, int samples) {
  if (!ours.reason().empty()) return {{"skip", ours.reason()}};
  Peer peer(script);
  if (!peer.reason().empty()) return {{"skip", peer.reason()}};
  const auto median_of_peer = [&] {
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) seconds.push_back(peer.run());
    return median(seconds);
  };
  median_of_peer();  // warm
  const auto found = alternate(pairs, median_of_peer, [&] { return ours.seconds(samples); });
  ours.verify();
  return {{"pairs", found},
          {"unit", "s"},
          {"note", fmt::format("{} against {}, {} threads, {} samples a side", peer.name(),
                               ours.name(), pair_threads, samples)}};
}

}  // namespace assay::self_benchmark
