#pragma once
// Runs a graph: chooses a backend for each node, assigns memory to the values, and runs the nodes
// in order.

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/backend.hpp"
#include "core/measure/hold.hpp"
#include "core/program/plugins.hpp"
#include "models/network/graph.hpp"
#include "models/network/recordings.hpp"

namespace assay {

/// A backend that computes a node, and the requested algorithm (empty: the backend's own choice).
struct Choice {
  std::string backend, algorithm;
  /// The name of the algorithm that computes a fused node as two operations (Executor::fuse).
  static constexpr const char* in_parts = "parts";
  bool is_in_parts() const { return algorithm == in_parts; }
  /// The name of the algorithm with which a node also makes sums, and the next node reads them
  /// (Executor::add_sums, GraphNode::gives).
  static constexpr const char* with_sums = "sums";
  bool has_sums() const { return algorithm == with_sums; }
  /// True if the backend may make this choice by itself.
  bool is_own() const { return algorithm.empty() || is_in_parts() || has_sums(); }
  std::string text() const;  ///< "native", "native (winograd_2x2)"
};

struct ExecutorSettings {
  /// Candidates for each node, in the order of preference. The first that implements it is used.
  std::vector<std::string> backends;
  /// Instead, measure() chooses the fastest correct candidate of each node among all algorithms of
  /// all `backends`.
  bool measured = false;
  /// Only accept operations that compute products in fp32 or a wider type, whatever type they
  /// store. This emulates 16-bit arithmetic on processors that do not have it.
  bool wide_products = false;
  /// The choice for each node, from Executor::list_chosen() of another executor; replaces
  /// `backends`. If the backend lacks the algorithm, as may happen with another batch, it chooses
  /// by itself.
  std::vector<Choice> chosen{};
  int threads = 1;
  std::string device = "cpu";
  /// Memory of values that this executor shares with another one (the parameters).
  std::map<ValueIndex, std::shared_ptr<void>> memory{};
};

/// Observes each node that an executor runs.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  virtual void before(std::size_t node) = 0;
  virtual void after(std::size_t node) = 0;
};

/// All activations and their gradients have the same layout, nhwc, so that backends can be mixed
/// without conversions. If all nodes are computed by a backend that is a reference, it is row-major
/// order. Parameters are in row-major order on processors, where each backend packs filters in its
/// own way.
class Executor {
 public:
  /// Unsupported if no backend implements a node in this layout. CaseError, before any allocation,
  /// if memory does not suffice. Both occur on all ranks if on one. Also CaseError if the ranks
  /// have different candidates. Collective.
  static Result<std::unique_ptr<Executor>> make(Graph graph, const ExecutorSettings& settings,
                                                Plugins& plugins, Communicator& ranks);

  const Graph& graph() const { return graph_; }
  Device& device() const { return *device_; }
  /// True if activations have the layout nhwc; else they are in row-major order.
  bool nhwc() const { return !row_major_; }
  /// True if filters, their gradients and their optimizer state are stored as [oc, kh, kw, ic], the
  /// order that convolutions of a GPU need; else in row-major order. Updates do not depend on the
  /// order.
  bool filters_last() const { return settings_.device != "cpu"; }
  /// Runs each candidate of each node several times on the data that the earlier nodes have
  /// computed, and keeps the fastest one that the oracle of the node accepts; all ranks keep the
  /// same one. An algorithm that its backend would not choose must also keep the network within
  /// network_tolerance(). Call it once, after images, labels and parameters were written. It does
  /// not run nodes of the update. If no candidate of a node is accepted, it throws CaseError if one
  /// was wrong, else UnsupportedCase. Without ExecutorSettings::measured it only compares fused
  /// operations, and convolutions that also make sums, with separate operations. Collective.
  void measure(Communicator& ranks);
  /// True if measure() has something to choose or to judge.
  bool chooses() const;
  /// Candidates that measure() left out because they were wrong: "conv1 forward by native: dst[0]
  /// …"
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// Runs the nodes of a phase in order; as one recording if the stream can record.
  void run(Phase phase);
  void run_node(std::size_t node);
  /// Notifies `observer` of each node from now on; nodes then run one by one, without recordings.
  /// nullptr: ends this.
  void observe(NodeObserver* observer) { observer_ = observer; }
  /// Number of runs of a node since the executor was made, without timed runs.
  std::int64_t runs(std::size_t node) const { return runs_[node]; }
  /// Runs a node, waits for it, and returns its seconds.
  double run_timed(std::size_t node);
  /// Runs the nodes of a phase in order and adds the seconds of each to `seconds`, by node. Nodes
  /// of one device follow each other as in a step, with marks between them; the device is held
  /// while they are submitted.
  void run_timed(Phase phase, std::span<double> seconds);
  /// Why a time of the node from run_timed() may include the host's time to submit it; "" if it
  /// does not.
  const std::string& host_included(std::size_t node) const { return host_included_[node]; }

  /// The tensor of a value on device().
  Tensor& tensor(ValueIndex value) const { return *tensors_[value]; }
  /// Fills a value with zeros, including the gaps between its parts.
  void clear(ValueIndex value);
  /// The memory of a value on its device. It lives as long as the pointer.
  std::shared_ptr<void> memory(ValueIndex value) const;
  /// The tensors of a node in the order of its operation's arguments.
  std::span<Tensor* const> arguments(std::size_t node) const;
  /// The device of these tensors, which is that of the node's backend.
  Device& device(std::size_t node) const { return *candidates_[node].front().device; }
  const Choice& choice(std::size_t node) const { return candidates_[node].front().choice; }
  /// True if the stream submits the phase as one recording.
  bool is_recorded(Phase phase) const {
    return recordings_.has(make_key(phase, false)) || recordings_.has(make_key(phase, true));
  }
  const Recordings& recordings() const { return recordings_; }
  /// The backend and algorithm that compute each node, for ExecutorSettings::chosen. It names the
  /// algorithm because a backend might choose a different one for another batch.
  std::vector<Choice> list_chosen() const;
  Execution execution(std::size_t node) const;
  /// Why two nodes that could be fused are not, or, in training, why the first of two nodes does
  /// not make sums for the second; "" if there is no such pair.
  const std::string& why_not_fused() const { return not_fused_; }
  /// Why the first backend, the requested one, computes no node, so that all results would come
  /// from other backends; "" if it computes a node, or if all backends are equal candidates
  /// (`measured`).
  std::string why_unused() const;
  /// Fills all activations, gradients and scratch memory with NaN, which reveals values that a step
  /// does not compute. Does not change the gradients of the previous step (Graph::lagged).
  void poison();
  /// Poisons only the scratch memory of a node, whose content no other node needs.
  void poison_scratch(std::size_t node);
  /// For a graph with a lag: exchanges the memory of `gradients` and `lagged` in all nodes. Copies
  /// nothing.
  void swap_gradients();
  /// Bytes of all values and of scratch memory, except values in memory of another executor.
  std::size_t bytes() const { return bytes_; }

 private:
  /// The tensors of an operation, in the memory of the values.
  struct Binding {
    std::vector<std::unique_ptr<Tensor>> own;
    std::vector<Tensor*> bound;
  };
  /// Memory that an operation needs while it runs: a part of the arena.
  struct Scratch {
    std::size_t offset = 0, bytes = 0;
  };
  /// An operation for a node.
  struct Candidate {
    Choice choice;
    Device* device = nullptr;
    std::unique_ptr<Operation> operation;
    Binding now;
    Binding swapped{};  ///< as after swap_gradients(); empty if that changes nothing
    const SharedArguments* shared = nullptr;  ///< made for another node, or read from one
    bool has_prologue = false;                ///< needs Operation::prologue before each run
    std::size_t scratch = 0;                  ///< bytes of workspaces and saved tensors
    EarlyBegins early{};  ///< when it was timed, alone or as the first of several nodes
    bool shares(const TensorSpec& spec) const;
    /// Bytes of the shared arguments, by name.
    std::map<std::string, std::size_t> shared_bytes() const;  ///< the argument is one of `shared`
    void count_scratch();  ///< of the operation: `scratch` and `has_prologue`
  };

  static int make_key(Phase phase, bool swapped) {
    return 2 * static_cast<int>(phase) + (swapped ? 1 : 0);
  }

  Executor(Graph graph, const ExecutorSettings& settings);
  /// In inference: replaces two nodes by one (GraphNode::join) if the backend of a GPU computes
  /// both at once. The value between them then no longer exists. The two separate operations remain
  /// a candidate of the new node: measure() chooses them if they are faster, or if the fused one is
  /// wrong.
  void fuse(Plugins& plugins, Communicator& ranks);
  Result<std::vector<Candidate>> find_fused(const GraphNode& fused, const GraphNode& before,
                                            const GraphNode& after, Plugins& plugins,
                                            Communicator& ranks) const;
  std::string make_candidates(Plugins& plugins, Communicator& ranks);
  /// In training: adds a candidate to each of two nodes if, on a GPU, the first one's backend also
  /// makes sums that the second one reads (GraphNode::gives). measure() takes both candidates or
  /// neither.
  void add_sums(Plugins& plugins, Communicator& ranks);
  void choose_sums(std::size_t before, Communicator& ranks);
  std::vector<Choice> choices(std::size_t node, Plugins& plugins) const;
  /// Also Unsupported if the candidate fails: a library may fail with an algorithm that it
  /// proposes. `failure`: receives the first failure.
  Result<Candidate> try_candidate(const GraphNode& node, const Choice& choice, Plugins& plugins,
                                  Communicator& ranks, std::exception_ptr* failure = nullptr) const;
  Result<Candidate> make_candidate(const GraphNode& node, const Choice& choice, Plugins& plugins,
                                   Communicator& ranks) const;
  void leave_out_large();
  void expect_equal(const std::vector<std::vector<Choice>>& choices, Communicator& ranks) const;
  void expect_equal_candidates(Communicator& ranks) const;
  std::string why_not_layout(const GraphNode& node, const Candidate& candidate) const;
  TensorSpec make_spec(ValueIndex value) const;
  void allocate();
  bool is_host() const;
  std::shared_ptr<void> allocate_arena(std::size_t bytes) const;
  void fill(void* place, unsigned char with, std::size_t bytes) const;
  Binding binding(const Candidate& candidate, std::size_t node) const;
  std::unique_ptr<Tensor> make_tensor(ValueIndex value) const;
  bool is_swapped(ValueIndex value) const;
  void place_part(ValueIndex value);
  void swap_places();
  void bind_swapped();
  void run(Candidate& candidate) const;
  double measure_seconds(Candidate& candidate) const;
  std::vector<double> seconds_of_all(std::vector<Candidate>& all) const;
  std::string why_not(std::size_t node, Communicator& ranks, bool& wrong);

  Graph graph_;
  ExecutorSettings settings_;
  Recordings recordings_;                             ///< by make_key()
  std::map<Phase, std::vector<std::size_t>> phases_;  ///< the nodes of each phase, in order
  std::vector<std::int64_t> runs_;                    ///< by node
  std::vector<std::string> host_included_;            ///< by node
  NodeObserver* observer_ = nullptr;
  std::vector<std::string> left_out_;
  std::string not_fused_;      ///< why_not_fused()
  std::string first_refusal_;  ///< why the first backend does not compute the first such node
  bool swapped_ = false;
  bool row_major_ = false;
  Device* device_ = nullptr;
  std::vector<std::vector<Candidate>> candidates_;  ///< by node; one for each node after measure()
  /// The memory of all activations, gradients and scratch.
  std::shared_ptr<void> arena_;
  std::size_t arena_bytes_ = 0, bytes_ = 0;
  std::vector<Scratch> scratch_;  ///< by node
  /// Nodes that may make sums for the next node.
  std::vector<std::size_t> summed_;
  std::shared_ptr<void> sums_;  ///< the memory of all sums
  std::size_t sums_bytes_ = 0;
  std::map<std::size_t, std::size_t> sums_at_;  ///< their offsets, by node that makes or reads them
  std::vector<std::shared_ptr<void>> places_;   ///< by value
  std::vector<std::unique_ptr<Tensor>> tensors_;
  /// Tensors by value, as after swap_gradients(); null for values that this does not change.
  std::vector<std::unique_ptr<Tensor>> swapped_tensors_;
};

}  // namespace assay
