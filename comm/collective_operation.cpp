#include "comm/collective_operation.hpp"

#include <cstddef>
#include <cstring>

namespace assay {
namespace {

constexpr int sendrecv_tag = 17;

class CollectiveOperation final : public Operation {
 public:
  CollectiveOperation(const CollectiveProblem& problem, std::unique_ptr<Communicator> ranks,
                      const CollectiveSettings& settings)
      : problem_(problem),
        ranks_(std::move(ranks)),
        settings_(settings),
        specs_(collective_tensors(problem, *ranks_, settings)),
        requests_(static_cast<std::size_t>(2 * ranks_->size())) {
    if (problem.shape().pattern != Pattern::alltoallv) return;
    for (int rank = 0; rank < ranks_->size(); ++rank) parts_.push_back(problem.of_rank(rank));
  }

  const std::vector<TensorSpec>& arguments() const override { return specs_; }

  void bind(std::span<Tensor* const> tensors) override {
    const Call call = bound_call(problem_, ranks_->rank(), tensors);
    prepared_ = prepared_ && same_buffers(call, call_);
    call_ = call;
  }

  void run(Stream& stream) override {
    if (!prepared_) prepare();
    if (problem_.shape().pattern == Pattern::sendrecv) {
      exchange(stream);
    } else if (problem_.shape().pattern == Pattern::alltoallv) {
      exchange_with_all(stream);
    } else if (settings_.nonblocking) {
      Request request = ranks_->start(call_, stream);
      ranks_->wait(request);
    } else {
      ranks_->run(call_, stream);
    }
  }

  Execution execution() const override {
    Execution ran;
    if (!is_exchange(problem_.shape().pattern)) {
      ran = make_executed(settings_, *ranks_, call_);
    } else {  // no call: messages of the transport
      ran.algorithm = settings_.algorithm;
      ran.implementation =
          settings_.transport + (problem_.shape().pattern == Pattern::sendrecv
                                     ? ": two messages, started together"
                                     : ": a message to each rank, started together");
      if (const std::string settings = ranks_->tuning_settings(); !settings.empty())
        ran.implementation += ", " + settings;
    }
    ran.storage = name(problem_.shape().type);
    return ran;
  }

 private:
  /// Collective: called in the first run after a bind. This run belongs to the verification and is
  /// never timed; every rank has allocated its buffers before it.
  void prepare() {
    if (!is_exchange(problem_.shape().pattern)) ranks_->prepare(call_);
    prepared_ = true;
  }

  void exchange(Stream& stream) {
    const int n = ranks_->size(), rank = ranks_->rank();
    const int next = (rank + 1) % n, before = (rank + n - 1) % n;
    Request sent, received;
    // Posting the receive first saves the library a copy. A single rank sends to itself first.
    if (n == 1) sent = ranks_->send(call_.send, next, sendrecv_tag, stream);
    received = ranks_->receive(call_.receive, before, sendrecv_tag, stream);
    if (n > 1) sent = ranks_->send(call_.send, next, sendrecv_tag, stream);
    ranks_->wait(sent);
    ranks_->wait(received);
  }

  void exchange_with_all(Stream& stream) {
    const int n = ranks_->size(), rank = ranks_->rank();
    const std::int64_t mine = parts_[static_cast<std::size_t>(rank)].count;
    const auto sent = [&](int to) {
      const ElementRange part = parts_[static_cast<std::size_t>(to)];
      return call_.send.part(part.first, part.count);
    };
    const auto received = [&](int from) { return call_.receive.part(from * mine, mine); };
    std::memcpy(received(rank).data, sent(rank).data, sent(rank).bytes());
    std::size_t started = 0;
    for (int step = 1; step < n; ++step) {
      const int from = (rank + n - step) % n;
      requests_[started++] = ranks_->receive(received(from), from, sendrecv_tag, stream);
    }
    for (int step = 1; step < n; ++step) {
      const int to = (rank + step) % n;
      requests_[started++] = ranks_->send(sent(to), to, sendrecv_tag, stream);
    }
    for (std::size_t i = 0; i < started; ++i) ranks_->wait(requests_[i]);
  }

  CollectiveProblem problem_;
  std::unique_ptr<Communicator> ranks_;
  CollectiveSettings settings_;
  std::vector<TensorSpec> specs_;
  std::vector<ElementRange> parts_;  ///< of alltoallv, by rank
  std::vector<Request> requests_;
  Call call_;
  bool prepared_ = false;
};

}  // namespace

Execution make_executed(const CollectiveSettings& settings, const Communicator& ranks,
                        const Call& call) {
  Execution ran;
  ranks.describe(call, ran);
  ran.algorithm = settings.algorithm;
  if (settings.algorithm != "library") ran.implementation += ", over " + settings.transport;
  if (const std::string tuning = ranks.tuning_settings(); !tuning.empty())
    ran.implementation += ", " + tuning;
  if (settings.nonblocking) ran.implementation += "; started, then waited for";
  if (settings.registered) ran.implementation += "; registered buffers";
  ran.workspace_bytes = ranks.scratch_bytes();
  return ran;
}

Call unbound_call(const CollectiveProblem& problem, int rank) {
  // Two addresses, so that the call is in place only if the problem is.
  alignas(64) static std::byte addresses[2][64];
  void* data[2] = {addresses[0], addresses[1]};
  return problem.call(rank, data);
}

Call bound_call(const CollectiveProblem& problem, int rank, std::span<Tensor* const> tensors) {
  void* data[2] = {tensors[0]->data(), tensors.size() > 1 ? tensors[1]->data() : nullptr};
  return problem.call(rank, data);
}

bool same_buffers(const Call& a, const Call& b) {
  return a.send.data == b.send.data && a.receive.data == b.receive.data;
}

std::vector<TensorSpec> collective_tensors(const CollectiveProblem& problem, Communicator& ranks,
                                           const CollectiveSettings& settings) {
  std::vector<TensorSpec> specs = problem.tensors(ranks.rank());
  if (settings.registered)
    for (TensorSpec& spec : specs)
      spec.memory = [&ranks](std::size_t bytes) { return ranks.allocate(bytes); };
  return specs;
}

std::string why_not_collective(const CollectiveProblem& problem, const Communicator& ranks) {
  if (is_exchange(problem.shape().pattern)) return "";
  return ranks.why_not(unbound_call(problem, ranks.rank()));
}

std::unique_ptr<Operation> collective_operation(const CollectiveProblem& problem,
                                                std::unique_ptr<Communicator> ranks,
                                                const CollectiveSettings& settings) {
  return std::make_unique<CollectiveOperation>(problem, std::move(ranks), settings);
}

}  // namespace assay
