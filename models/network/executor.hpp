#pragma once
// Runs a graph: chooses a backend for each node, gives its tensors memory, and runs the nodes in
// order.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/backend.hpp"
#include "core/program/plugins.hpp"
#include "models/network/graph.hpp"
#include "models/network/recordings.hpp"

namespace assay {

struct ExecutorSettings {
  /// Backends that are asked for each node, in this order; the first that has it computes it.
  std::vector<std::string> backends;
  /// Asks all of `backends` for each node and takes the one that was fastest in a few runs
  /// (measure()).
  bool measured = false;
  /// Only operations that form their products in fp32 or wider, whatever they store: arithmetic
  /// that the processor need not have, emulated.
  bool wide_products = false;
  /// One backend a node, as another executor has chosen them; `backends` is then not used.
  std::vector<std::string> chosen{};
  int threads = 1;
  std::string device = "cpu";
  /// Memory of values that another executor has, too: the parameters that it learns.
  std::map<ValueIndex, std::shared_ptr<void>> memory{};
};

/// All activations and their gradients have one layout, channels innermost; where every node is
/// computed by the backend `reference`, row-major order. So backends mix without conversions.
class Executor {
 public:
  /// Unsupported where no backend has a node, or one of another layout. CaseError where memory is
  /// short: all is counted before anything is allocated.
  static Result<std::unique_ptr<Executor>> make(Graph graph, const ExecutorSettings& settings,
                                                Plugins& plugins, Communicator& ranks);

  const Graph& graph() const { return graph_; }
  Device& device() const { return *device_; }
  /// Whether activations have their channels innermost; else they are in row-major order.
  bool nhwc() const { return !row_major_; }
  /// Runs each candidate of each node some times on the data that the nodes before it have made,
  /// and keeps the fastest, the same on all ranks. Once, with images, labels and parameters in
  /// their place; nodes of the update are not run.
  void measure(Communicator& ranks);
  /// Runs the nodes of a phase, in order; on a stream that makes recordings by one of them.
  void run(Phase phase);
  void run_node(std::size_t node);
  /// Runs a node and waits for it: its seconds.
  double run_timed(std::size_t node) { return seconds_of(candidates_[node].front()); }

  /// A value as a tensor, to be filled and read with device().
  Tensor& tensor(ValueIndex value) const { return *tensors_[value]; }
  /// Fills a value, and what lies between its parts, with zeros.
  void clear(ValueIndex value);
  /// The memory of a value, of the device; kept as long as the pointer.
  std::shared_ptr<void> memory(ValueIndex value) const;
  /// The tensors of a node in the order of its operation's arguments.
  std::span<Tensor* const> arguments(std::size_t node) const;
  /// The device of these tensors, that of the node's backend.
  Device& device(std::size_t node) const { return *candidates_[node].front().device; }
  std::string backend(std::size_t node) const;
  const Recordings& recordings() const { return recordings_; }
  /// By node: what ExecutorSettings::chosen takes.
  std::vector<std::string> chosen() const;
  Executed executed(std::size_t node) const;
  /// Fills all activations, gradients and scratch memory with a pattern that is no number: what a
  /// step does not compute anew then shows. Gradients of the step before (Graph::lagged) stay.
  void poison();
  /// Of a graph that lags: `gradients` and `lagged` change places, with all that nodes read and
  /// write there. Nothing is copied.
  void swap_gradients();
  /// Bytes of all values and scratch memory, but for values whose memory was given.
  std::size_t bytes() const { return bytes_; }

 private:
  /// An operation's own tensors in the memory of the values.
  struct Binding {
    std::vector<std::unique_ptr<Tensor>> own;
    std::vector<Tensor*> bound;
  };
  /// An operation for a node.
  struct Candidate {
    std::string backend;
    Device* device = nullptr;
    std::unique_ptr<Operation> operation;
    Binding now;
    Binding swapped{};          ///< as after swap_gradients(); empty where that changes nothing
    bool has_prologue = false;  ///< it reads what its forward pass saves: made before each run
    std::size_t scratch = 0;    ///< bytes of workspaces and saved tensors
  };

  Executor(Graph graph, const ExecutorSettings& settings);
  std::string make_candidates(Plugins& plugins, Communicator& ranks);
  Result<Candidate> make_candidate(const GraphNode& node, const std::string& backend,
                                   Plugins& plugins, Communicator& ranks) const;
  std::string why_not_layout(const GraphNode& node, const Operation& operation) const;
  TensorSpec spec_of(ValueIndex value) const;
  void allocate();
  bool is_host() const;
  std::shared_ptr<void> allocated(std::size_t bytes) const;
  void fill(void* place, unsigned char with, std::size_t bytes) const;
  Binding binding(const Candidate& candidate, const GraphNode& node) const;
  std::unique_ptr<Tensor> tensor_of(ValueIndex value) const;
  bool is_swapped(ValueIndex value) const;
  void place_part(ValueIndex value);
  void swap_places();
  void bind_swapped();
  void run(Candidate& candidate) const;
  double seconds_of(Candidate& candidate) const;

  Graph graph_;
  ExecutorSettings settings_;
  Recordings recordings_;  ///< by phase, and whether gradients are swapped
  std::vector<bool> ran_;  ///< by node: at least once
  bool swapped_ = false;
  bool row_major_ = false;
  Device* device_ = nullptr;
  std::vector<std::vector<Candidate>> candidates_;  ///< by node; one each after measure()
  std::shared_ptr<void> arena_, scratch_;
  std::size_t arena_bytes_ = 0, scratch_bytes_ = 0, bytes_ = 0;
  std::vector<std::shared_ptr<void>> places_;  ///< by value
  std::vector<std::unique_ptr<Tensor>> tensors_;
  /// As after swap_gradients(), by value; null for values that stay.
  std::vector<std::unique_ptr<Tensor>> swapped_tensors_;
};

}  // namespace assay
