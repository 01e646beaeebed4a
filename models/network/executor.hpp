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

/// A backend that computes a node, and the algorithm that it is asked for (empty: its own choice).
struct Choice {
  std::string backend, algorithm;
  /// The algorithm of a node that the backend also computes as one operation (Executor::fuse).
  static constexpr const char* in_parts = "parts";
  bool is_in_parts() const { return algorithm == in_parts; }
  /// The name of the algorithm by which a node also makes sums, and by which the next node reads
  /// them (Executor::add_sums, GraphNode::gives).
  static constexpr const char* with_sums = "sums";
  bool has_sums() const { return algorithm == with_sums; }
  /// True if the backend would choose it by itself.
  bool is_own() const { return algorithm.empty() || is_in_parts() || has_sums(); }
  std::string text() const;  ///< "native", "native (winograd_2x2)"
};

struct ExecutorSettings {
  /// Candidates for each node, in the order of preference. The first that implements it is used.
  std::vector<std::string> backends;
  /// Use instead, of all algorithms of all `backends`, the fastest correct candidate of each node,
  /// by measure().
  bool measured = false;
  /// Only accept operations that compute products in fp32 or a wider type, whatever type they
  /// store. This emulates 16-bit arithmetic on processors that do not have it.
  bool wide_products = false;
  /// The choice for each node, as Executor::list_chosen() of another executor; replaces `backends`.
  /// The backend chooses if it lacks the algorithm, as it may for another batch.
  std::vector<Choice> chosen{};
  int threads = 1;
  std::string device = "cpu";
  /// Memory of values that this executor shares with another one (the parameters).
  std::map<ValueIndex, std::shared_ptr<void>> memory{};
};

/// Is told of each node that an executor runs.
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
  /// Unsupported if no backend implements a node in this layout. CaseError, before anything is
  /// allocated, if memory does not suffice. Each on all ranks if on any. CaseError, too, if the
  /// ranks have different candidates. Collective.
  static Result<std::unique_ptr<Executor>> make(Graph graph, const ExecutorSettings& settings,
                                                Plugins& plugins, Communicator& ranks);

  const Graph& graph() const { return graph_; }
  Device& device() const { return *device_; }
  /// True if activations have the layout nhwc; else they are in row-major order.
  bool nhwc() const { return !row_major_; }
  /// True if filters, their gradients and their optimizer's state are kept as [oc, kh, kw, ic], as
  /// convolutions of a GPU take them; else in row-major order. No rule of an update depends on it.
  bool filters_last() const { return settings_.device != "cpu"; }
  /// Runs each candidate of each node several times on the data that the nodes before it have
  /// computed, and keeps the fastest one that the oracle of the node accepts, the same on all
  /// ranks. An algorithm that its backend would not choose must also keep the network within
  /// network_tolerance(). Call it once, after images, labels and parameters were written. It does
  /// not run nodes of the update. If no candidate of a node is accepted it throws CaseError where
  /// one was wrong, else UnsupportedCase. Without ExecutorSettings::measured it compares what is
  /// fused, or made beside a convolution, with its parts alone. Collective.
  void measure(Communicator& ranks);
  /// measure() has something to choose or to judge.
  bool chooses() const;
  /// Candidates that measure() left out because they were wrong: "conv1 forward by native: dst[0]
  /// …"
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// Runs the nodes of a phase in order; as one recording if the stream can record.
  void run(Phase phase);
  void run_node(std::size_t node);
  /// Tells `observer` of each node, which then runs by itself; nullptr: nobody any more.
  void observe(NodeObserver* observer) { observer_ = observer; }
  /// Number of runs of a node since the executor was made, without timed runs. Counted when it
  /// runs.
  std::int64_t runs(std::size_t node) const { return runs_[node]; }
  /// Runs a node, waits for it, and returns its seconds.
  double run_timed(std::size_t node);
  /// Runs the nodes of a phase in order and adds the seconds of each to `seconds`, by node. Nodes
  /// of one device follow each other as they do in a step, with marks between them, and it is held
  /// while they are submitted.
  void run_timed(Phase phase, std::span<double> seconds);
  /// Why a time of the node by run_timed() may contain that of the host that submits; "" if none
  /// does.
  const std::string& host_included(std::size_t node) const { return host_included_[node]; }

  /// A value as a tensor of device().
  Tensor& tensor(ValueIndex value) const { return *tensors_[value]; }
  /// Fills a value with zeros, including the gaps between its parts.
  void clear(ValueIndex value);
  /// The memory of a value on its device. It exists as long as the pointer.
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
  /// The backend and algorithm that compute each node, for ExecutorSettings::chosen. A backend
  /// that may choose might choose another algorithm for another batch.
  std::vector<Choice> list_chosen() const;
  Execution execution(std::size_t node) const;
  /// Why two nodes that a backend may join are not one operation, or, in training, sums are not
  /// made beside the first; "" if all are, or there are none.
  const std::string& why_not_fused() const { return not_fused_; }
  /// Why the first of the backends, which was asked for, computes no node, so that results would be
  /// others' alone; "" if it computes one, or if all are candidates alike (`measured`).
  std::string why_unused() const;
  /// Fills all activations, gradients and scratch memory with NaN, so that values that a step does
  /// not compute are found. Gradients of the step before (Graph::lagged) are not changed.
  void poison();
  /// Poisons only the scratch memory of a node, which no other node needs.
  void poison_scratch(std::size_t node);
  /// For a graph with a lag: exchanges the memory of `gradients` and `lagged` in all nodes. Copies
  /// nothing.
  void swap_gradients();
  /// Bytes of all values and of scratch memory, without values whose memory was given.
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
    const SharedArguments* shared = nullptr;  ///< which it makes for another node, or reads
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
  /// Makes one node of two in inference (GraphNode::join), where the backend of a GPU computes both
  /// at once. The values between them then no longer exist. The two operations, one after the
  /// other, are its other candidate: measure() takes them where they are faster, or the one is
  /// wrong.
  void fuse(Plugins& plugins, Communicator& ranks);
  Result<std::vector<Candidate>> find_fused(const GraphNode& fused, const GraphNode& before,
                                            const GraphNode& after, Plugins& plugins,
                                            Communicator& ranks) const;
  std::string make_candidates(Plugins& plugins, Communicator& ranks);
  /// In training: adds candidates to two nodes where the backend of a GPU makes sums of the second
  /// beside the first (GraphNode::gives). measure() takes both or neither.
  void add_sums(Plugins& plugins, Communicator& ranks);
  void choose_sums(std::size_t before, Communicator& ranks);
  std::vector<Choice> choices(std::size_t node, Plugins& plugins) const;
  /// Unsupported, too, if it fails: a library may break on what it proposes. `failure`: the first.
  Result<Candidate> try_candidate(const GraphNode& node, const Choice& choice, Plugins& plugins,
                                  Communicator& ranks, std::exception_ptr* failure = nullptr) const;
  Result<Candidate> make_candidate(const GraphNode& node, const Choice& choice, Plugins& plugins,
                                   Communicator& ranks) const;
  void leave_out_large();
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
  std::string first_refusal_;  ///< of the first backend, of the first node that it does not compute
  bool swapped_ = false;
  bool row_major_ = false;
  Device* device_ = nullptr;
  std::vector<std::vector<Candidate>> candidates_;  ///< by node; after measure() one for each
  /// The memory of all activations, gradients and scratch.
  std::shared_ptr<void> arena_;
  std::size_t arena_bytes_ = 0, bytes_ = 0;
  std::vector<Scratch> scratch_;  ///< by node
  /// Nodes that may make sums for the one behind them.
  std::vector<std::size_t> summed_;
  std::shared_ptr<void> sums_;  ///< the memory of all sums
  std::size_t sums_bytes_ = 0;
  std::map<std::size_t, std::size_t> sums_at_;  ///< their offsets, by node of both kinds
  std::vector<std::shared_ptr<void>> places_;   ///< by value
  std::vector<std::unique_ptr<Tensor>> tensors_;
  /// Tensors by value, as after swap_gradients(); null for values that this does not change.
  std::vector<std::unique_ptr<Tensor>> swapped_tensors_;
};

}  // namespace assay
