#include "runner/nodes/node_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/text_table.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A number at the beginning of `text`, which it is taken from.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

NodeProgress::NodeProgress(fs::path log, std::set<std::string> nodes)
    : log_(std::move(log)), names_(std::move(nodes)) {}

std::string NodeProgress::news(Clock::time_point now, bool last) {
  if (now < next_ && !last) return "";
  read();
  std::vector<const State*> more;
  std::string text;
  std::size_t lines = 0;
  for (auto& [name, state] : nodes_) {
    if (state.line.empty()) continue;
    if (++lines > most_lines) {
      more.push_back(&state);
      continue;
    }
    text += visible(state.line) + "\n";
    state.line.clear();
  }
  if (!more.empty()) {
    const auto [least, most] = std::minmax_element(
        more.begin(), more.end(), [](const State* a, const State* b) { return a->done < b->done; });
    text += fmt::format("and {}: {} to {} of {} rows\n", counted(more.size(), "more node"),
                        (*least)->done, (*most)->done, (*most)->all);
  }
  if (!text.empty()) next_ = now + interval;
  return text;
}

void NodeProgress::read() {
  std::error_code absent;
  const std::uintmax_t size = fs::file_size(log_, absent);
  if (absent) return;
  if (size < read_) read_ = size;  // a long log was cut (Child::poll)
  std::ifstream stream(log_, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(read_));
  for (std::string line; std::getline(stream, line) && !stream.eof();) {
    read_ += line.size() + 1;
    take(line);
  }
}

void NodeProgress::take(const std::string& line) {
  // Some launchers put the rank before it, and it may be in brackets.
  for (std::size_t at = line.find('['); at != std::string::npos; at = line.find('[', at + 1)) {
    const std::size_t end = line.find_first_of(" ]", at);
    if (end == std::string::npos) return;
    const std::string name = line.substr(at + 1, end - at - 1);
    if (!names_.contains(name)) continue;
    if (line[end] == ']') {  // before its first row
      nodes_[name].line = line.substr(at);
      return;
    }
    std::string_view rest = std::string_view(line).substr(end + 1);
    const auto done = take_number(rest);
    if (!done || !rest.starts_with('/')) continue;
    rest.remove_prefix(1);
    const auto all = take_number(rest);
    if (!all || *all == 0 || !rest.starts_with(']')) continue;
    nodes_[name] = {*done, *all, line.substr(at)};
    return;
  }
}

}  // namespace assay
