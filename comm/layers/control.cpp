#include "comm/layers/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"

namespace assay {
namespace {

/// Host transports ignore it.
HostStream no_stream;

Buffer one(std::int32_t& number) { return {&number, 1, DataType::s32}; }

}  // namespace

ControlTree control_tree(int rank, int ranks, int radix) {
  const int width = radix == 0 ? std::max(1, ranks - 1) : radix;
  ControlTree tree;
  if (rank > 0) tree.parent = (rank - 1) / width;
  for (std::int64_t child = std::int64_t{rank} * width + 1;
       child <= std::int64_t{rank} * width + width && child < ranks; ++child)
    tree.children.push_back(static_cast<int>(child));
  return tree;
}

std::optional<int> read_control(const std::string& text) {
  constexpr std::uint64_t widest = 1024;
  if (text == "none") return std::nullopt;
  if (text == "flat") return 0;
  if (!text.starts_with("tree:"))
    throw InputError("--control " + text + " is unknown. Use none, flat or tree:RADIX.");
  return static_cast<int>(whole_number("--control tree:", text.substr(5), 2, widest));
}

std::int64_t busiest_messages(int ranks, int radix) {
  std::size_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const ControlTree tree = control_tree(rank, ranks, radix);
    most = std::max(most, tree.children.size() + (tree.parent < 0 ? 0 : 1));
  }
  return 2 * static_cast<std::int64_t>(most);
}

std::string why_not_one_order(const std::vector<int>& order, Communicator& ranks) {
  // For each place, the largest and the smallest tensor number over the ranks.
  std::vector<double> places(order.begin(), order.end());
  for (const int tensor : order) places.push_back(-tensor);
  ranks.allreduce_max(places);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (const double most = places[i], least = -places[order.size() + i]; most != least)
      return fmt::format(
          "ranks add gradients in different orders: number {} is bucket {} on one rank and "
          "{} on another",
          i + 1, static_cast<int>(least), static_cast<int>(most));
  return "";
}

std::string Control::why_not(const Communicator& ranks) {
  if (ranks.has_tags()) return "";
  return "control messages need a transport whose messages have tags. Use --control none.";
}

Control::Control(Communicator& ranks, int radix, int tensors, int tag)
    : ranks_(ranks),
      tree_(control_tree(ranks.rank(), ranks.size(), radix)),
      tensors_(tensors),
      tag_(tag) {
  for (const int child : tree_.children) children_.push_back({child});
  parent_.rank = tree_.parent;
}

Control::~Control() {
  if (std::uncaught_exceptions() > 0) return;
  try {
    for (OutgoingMessage& sending : sending_) ranks_.wait(sending.request);
    for (Neighbour& child : children_) ranks_.wait(child.request);
    ranks_.wait(parent_.request);
  } catch (...) {  // the transport has failed and transfers nothing any more
  }
}

void Control::begin() {
  missing_.assign(static_cast<std::size_t>(tensors_), 1 + static_cast<int>(children_.size()));
  reported_.assign(static_cast<std::size_t>(tensors_), false);
  order_.clear();
  for (Neighbour& child : children_) {
    child.left = tensors_;
    listen(child);
  }
  if (tree_.parent < 0) return;
  parent_.left = tensors_;
  listen(parent_);
}

void Control::listen(Neighbour& neighbour) {
  neighbour.listening = neighbour.left > 0;
  if (!neighbour.listening) return;
  --neighbour.left;
  neighbour.request = ranks_.receive(one(neighbour.number), neighbour.rank, tag_, no_stream);
}

void Control::send(int tensor, int to) {
  auto number = std::make_unique<std::int32_t>(tensor);
  const Request request = ranks_.send(one(*number), to, tag_, no_stream);
  sending_.push_back({std::move(number), request});
  ++count_.sent;
}

void Control::ready(int tensor) {
  const auto place = static_cast<std::size_t>(tensor);
  if (reported_.at(place)) throw std::logic_error("a tensor is ready twice in a step");
  reported_[place] = true;
  have(tensor);
}

/// Counts a holder of the tensor: this rank, or a child together with all ranks below it.
void Control::have(int tensor) {
  if (--missing_.at(static_cast<std::size_t>(tensor)) > 0) return;
  if (tree_.parent < 0)
    decide(tensor);
  else
    send(tensor, tree_.parent);
}

void Control::decide(int tensor) {
  for (const int child : tree_.children) send(tensor, child);
  decided_.push_back(tensor);
}

void Control::progress() {
  const auto arrived = [&](Neighbour& neighbour) {
    if (!neighbour.listening || !ranks_.done(neighbour.request)) return false;
    ++count_.received;
    return true;
  };
  for (Neighbour& child : children_)
    while (arrived(child)) {
      const int tensor = child.number;
      listen(child);
      have(tensor);
    }
  while (arrived(parent_)) {
    const int tensor = parent_.number;
    listen(parent_);
    decide(tensor);
  }
  while (!sending_.empty() && ranks_.done(sending_.front().request)) sending_.pop_front();
}

int Control::next() {
  progress();
  if (decided_.empty()) return -1;
  const int tensor = decided_.front();
  decided_.pop_front();
  order_.push_back(tensor);
  return tensor;
}

}  // namespace assay
