#pragma once
// The progress of `assay run --per-node`: the launcher collects the output of the nodes' runs in
// one log, and this shows it as a few lines on stderr.

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace assay {

/// The last line of progress of each node, "[n1 3/24] conv/…  2.41 µs", or before its first row
/// "[n1] measuring …", in the log of a launcher.
class NodeProgress final {
 public:
  using Clock = std::chrono::steady_clock;

  /// Only lines of these nodes count.
  NodeProgress(std::filesystem::path log, std::set<std::string> nodes);
  /// Reads what was appended to the log. Returns the text to print, or "". It contains the nodes
  /// whose line has changed, in turns: at most `most_lines` every `interval`; and the progress of
  /// the other nodes. The end (`last`) does not wait for the interval.
  std::string news(Clock::time_point now, bool last = false);

  static constexpr std::chrono::seconds interval{10};
  static constexpr std::size_t most_lines = 16;

 private:
  void read();
  void take(const std::string& line);
  struct State {
    std::size_t done = 0, all = 0;
    std::string line{};  ///< "" if it was shown
    Clock::time_point shown_at{};
  };

  std::filesystem::path log_;
  std::set<std::string> names_;
  std::map<std::string, State> nodes_;
  std::uintmax_t read_ = 0;  ///< bytes read from the log
  Clock::time_point next_{};
};

}  // namespace assay
