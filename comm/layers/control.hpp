#pragma once
// The order in which ranks sum tensors that become ready at their own pace.
//
// All ranks must make collective calls in one order, but backward passes may produce gradients in
// different orders. So ranks report each tensor that is ready. When every rank has a tensor, the
// root appends it to the order and tells all ranks. In the flat form the root receives a message
// from every other rank for each tensor. In a tree of radix r, a rank passes a report on when it
// and all ranks below it have the tensor. So for each tensor a rank receives at most r reports and
// a decision, and sends a report and at most r decisions. The exaflop run replaced Horovod's flat
// form by such a tree (T. Kurth et al., Exascale Deep Learning for Climate Analytics, SC18,
// arXiv:1810.01993).

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// A rank's neighbours in a tree in which the parent of rank r > 0 is (r - 1) / radix.
struct ControlTree {
  int parent = -1;  ///< -1: the root, rank 0
  std::vector<int> children{};
};
/// `radix` 0: flat, all other ranks are children of rank 0.
ControlTree control_tree(int rank, int ranks, int radix);

/// The radix that a text names: "flat" 0, "tree:R" R (2 to 1024), "none" nothing. InputError for
/// other texts.
std::optional<int> read_control(const std::string& text);
/// Messages that the busiest of `ranks` ranks sends and receives for each tensor.
std::int64_t busiest_messages(int ranks, int radix);

/// Why the ranks' orders of tensors differ; "" if they are equal. Collective.
std::string why_not_one_order(const std::vector<int>& order, Communicator& ranks);

/// Messages of this rank since the beginning. Each is 4 bytes.
struct ControlCount {
  std::int64_t sent = 0, received = 0;
  std::int64_t bytes() const { return 4 * (sent + received); }
};

class Control {
 public:
  /// `ranks` must outlive it, and have tags; messages have `tag`. `radix`: as control_tree()'s.
  Control(Communicator& ranks, int radix, int tensors, int tag);
  /// Waits for its messages, unless an exception is in flight.
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Why ranks cannot agree over this communicator; "" if they can.
  static std::string why_not(const Communicator& ranks);

  /// A new step: no tensor is ready. Call it when next() has returned all tensors.
  void begin();
  /// This rank has the tensor. std::logic_error if it has reported it in this step.
  void ready(int tensor);
  /// The next tensor of the order, or -1 while none is decided. Makes progress; does not wait.
  int next();
  /// The tensors that next() has returned in this step.
  const std::vector<int>& order() const { return order_; }
  const ControlCount& count() const { return count_; }
  /// Ranks to which this one sends a message for each tensor, and from which it receives one.
  std::int64_t neighbours() const {
    return static_cast<std::int64_t>(children_.size()) + (tree_.parent < 0 ? 0 : 1);
  }

 private:
  /// Messages of one neighbour: one for each tensor in each step.
  struct Neighbour {
    int rank = 0;
    std::int32_t number = 0;  ///< of the next arrival
    int left = 0;             ///< messages of this step that are not waited for yet
    bool listening = false;
    Request request{};
  };
  struct OutgoingMessage {
    std::unique_ptr<std::int32_t> number;
    Request request;
  };
  void listen(Neighbour& neighbour);
  void send(int tensor, int to);
  void have(int tensor);
  void decide(int tensor);
  void progress();

  Communicator& ranks_;
  ControlTree tree_;
  int tensors_, tag_;
  std::vector<Neighbour> children_;
  Neighbour parent_;
  std::vector<int> missing_;  ///< by tensor: this rank and its children that do not have it yet
  std::vector<bool> reported_;
  std::deque<OutgoingMessage> sending_;
  std::deque<int> decided_;
  std::vector<int> order_;
  ControlCount count_;
};

}  // namespace assay
