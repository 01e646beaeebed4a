#include "runner/nodes/node_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/text_table.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Reads a number at the beginning of `text`, and removes it from there.
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
  std::vector<State*> changed;
  for (auto& [name, state] : nodes_)
    if (!state.line.empty()) changed.push_back(&state);
  // Nodes take turns: the line that was shown longest ago comes first.
  std::ranges::stable_sort(changed, {}, &State::shown_at);
  std::string text;
  const std::size_t lines = std::min(changed.size(), most_lines);
  for (std::size_t i = 0; i < lines; ++i) {
    text += visible(changed[i]->line) + "\n";
    changed[i]->line.clear();
    changed[i]->shown_at = now;
  }
  if (const auto more = std::span(changed).subspan(lines); !more.empty()) {
    const auto [least, most] = std::ranges::minmax_element(more, {}, &State::done);
    text += "and " + format_count(more.size(), "more node");
    if ((*most)->all > 0)
      text += fmt::format(": {} to {} of {}", (*least)->done, (*most)->done,
                          format_count((*most)->all, "row"));
    text += "\n";
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
  // Some launchers put the rank before the line, which may be in brackets.
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
    State& state = nodes_[name];
    state.done = *done;
    state.all = *all;
    state.line = line.substr(at);
    return;
  }
}

}  // namespace assay
