#pragma once
// The messages of asynchronous steps: workers send the parts of a gradient to the servers, and
// receive the servers' weights. A rank waits only for answers to its own messages (and, with a
// bound, for ranks that are too far behind). There are no threads: a server makes progress when it
// calls serve().
//
// A worker sends a gradient from the memory that its pass has written, and does not overwrite this
// memory until the gradient has left. With a bound, a server sends its weights without a copy, and
// applies the next gradient once they have left. Without a bound, it sends a copy, so that it waits
// for no worker. Weights on a GPU are always copied to the host's memory and sent from there.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/parallel/record.hpp"
#include "models/parallel/servers_part.hpp"

namespace assay {

/// The roles of the ranks. Worker w is rank w; server s is rank first_server + s.
struct AsyncRoles {
  int workers = 1, first_server = 0;
  std::vector<WeightsPart> parts;  ///< by server
  /// stale:S: no worker begins step t before all gradients of step t - S - 1 are applied, and it
  /// waits for no later ones, so its messages may take as long as S steps. Batches are assigned in
  /// turn. Without a bound, a worker waits for the answer to each gradient, and then takes the next
  /// batch.
  std::optional<std::int64_t> bound;
  int servers() const { return static_cast<int>(parts.size()); }
  int find_rank(int server) const { return first_server + server; }
  /// The server that a rank is; -1: none.
  int find_server(int rank) const {
    const int server = rank - first_server;
    return server >= 0 && server < servers() ? server : -1;
  }
  /// Number of a worker's unanswered gradients while it computes another one.
  std::int64_t unanswered() const { return bound.value_or(0); }
};

/// The header of a gradient. 8 words.
struct GradientHead {
  std::int64_t step = 0;  ///< of the worker; -1: it makes no more steps
  std::int64_t ticket = 0, base = 0;
  double rate = 0, scale = 1;
  std::int64_t unused[3] = {};
};

/// The header of weights. 8 words.
struct WeightsHead {
  std::int64_t version = 0;
  std::int64_t ticket = 0;  ///< the worker's next batch, set by server 0; -1: none
  std::int64_t finite = 1;  ///< 1 if the answered gradient was applied
  std::int64_t unused[5] = {};
};

/// One server. From begin() until over() it answers each gradient once.
class PartServer {
 public:
  /// `update` has memory for a gradient of each worker. `ranks` and `gradients` connect the same
  /// ranks; `gradients` moves memory of the update's device, `ranks` memory of the host. All
  /// arguments must outlive this object.
  PartServer(PartUpdate& update, const AsyncRoles& roles, Communicator& ranks,
             Communicator& gradients);
  /// Waits for its messages, if they can still come.
  ~PartServer();
  PartServer(const PartServer&) = delete;
  PartServer& operator=(const PartServer&) = delete;

  /// Begins `tickets` steps and assigns each worker its first one.
  void begin(std::int64_t tickets, AsyncRecord& record);
  /// Applies the gradients that have arrived, and sends the answers that may be sent. Does not
  /// wait.
  void serve();
  /// True if all workers have ended.
  bool over() const;
  /// Waits for the last answers.
  void finish();
  std::int64_t version() const { return version_; }
  void set_version(std::int64_t version) { version_ = version; }

  /// Takes the header of this rank's own worker: its end, or the header of its gradient. The
  /// gradient is already in its place and must remain there until has_applied_own().
  void take_own(const GradientHead& head);
  bool has_applied_own() const;
  /// The answer, once it may be given. read_own() gives its weights.
  std::optional<WeightsHead> answer_own();
  /// Copies the present weights to `to`. Returns their checksum.
  std::uint64_t read_own(void* to);

 private:
  enum class State { awaits_head, awaits_gradient, ended };
  struct Peer {
    int worker = 0;
    State state = State::ended;
    GradientHead head;
    WeightsHead answer;
    std::shared_ptr<void> weights;  ///< the copy to send; none with a bound on the host
    Request head_in{}, gradient_in{}, head_out{}, weights_out{};
    std::int64_t steps = 0;           ///< steps whose gradients were applied
    std::deque<WeightsHead> answers;  ///< pending answers to the last of these steps
  };

  bool is_own(const Peer& peer) const { return peer.worker == ranks_.rank(); }
  void listen(Peer& peer);
  void receive(Peer& peer);
  bool may_apply();
  void apply(Peer& peer);
  bool may_answer(const Peer& peer) const;
  static void take_answer(Peer& peer, std::int64_t version);
  Buffer weights_for(Peer& peer);
  void write_down(const Peer& peer, std::uint64_t sum);
  std::int64_t next_ticket();

  PartUpdate& update_;
  const AsyncRoles& roles_;
  Communicator &ranks_, &gradients_;
  const WeightsCopies copies_;
  const int server_;
  std::vector<Peer> peers_;  ///< by worker
  std::size_t first_ = 0;    ///< the peer that is asked first
  AsyncRecord* record_ = nullptr;
  std::int64_t version_ = 0, tickets_ = 0, dealt_ = 0;
};

/// One worker's side.
class PartWorker {
 public:
  /// `gradients`, `weights`: of the whole network, in the memory of `device`, which only
  /// `moves_gradients` can move. `own`: the server on this rank, or nullptr.
  PartWorker(const AsyncRoles& roles, Communicator& ranks, Communicator& moves_gradients,
             PartServer* own, Device& device, Buffer gradients, Buffer weights);
  ~PartWorker();
  PartWorker(const PartWorker&) = delete;
  PartWorker& operator=(const PartWorker&) = delete;

  /// Begins with weights of these versions.
  void begin(const std::vector<std::int64_t>& versions, std::int64_t tickets, AsyncRecord& record);
  /// True if the next step may begin. Does not wait.
  bool ready();
  /// Begins the next step: copies the newest weights into the network. Returns the step's batch; -1
  /// if no more steps follow.
  std::int64_t take();
  /// With a bound, after all answers: copies the weights after all gradients into the network.
  void take_last();
  /// Sends the gradients of the step. Their memory may be overwritten after have_left().
  void send(const GradientHead& head);
  bool have_left();
  /// The outcome of the oldest answered step, returned once: whether all servers have applied its
  /// gradient, and the loss scale of this gradient.
  struct Outcome {
    bool finite = true;
    double scale = 1;
  };
  std::optional<Outcome> outcome();
  /// True if all gradients are answered. Does not wait.
  bool has_all_answers();
  /// Tells all servers that no more steps follow.
  void end();
  /// Waits for the last messages.
  void finish();

 private:
  /// The messages of a sent step with one server.
  struct Message {
    GradientHead head;
    WeightsHead answer;
    bool waits = false;
    Request head_out{}, gradient_out{}, head_in{}, weights_in{};
  };
  struct Slot {
    std::shared_ptr<void> weights;  ///< of the whole network, in memory of the host
    std::vector<Message> messages;  ///< by server
    double scale = 1;
  };

  bool is_own(int server) const { return roles_.find_rank(server) == ranks_.rank(); }
  Slot& slot(std::int64_t step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }
  /// A server's part within memory of the whole network.
  Buffer part(void* whole, int server) const;
  std::uint64_t read(int server, const Buffer& to, std::int64_t& version);
  bool has_arrived(Slot& slot, int server);
  void poll();

  const AsyncRoles& roles_;
  Communicator &ranks_, &moves_gradients_;
  const WeightsCopies copies_;
  PartServer* own_;
  Buffer gradients_, weights_;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> versions_;  ///< by server: of the network's weights
  std::vector<Message> ends_;
  AsyncRecord* record_ = nullptr;
  std::int64_t step_ = 0;      ///< steps that were sent
  std::int64_t answered_ = 0;  ///< steps that all servers have answered
  std::int64_t taken_ = 0;     ///< steps whose outcome was taken
  std::int64_t ticket_ = -1, tickets_ = 0;
};

}  // namespace assay
