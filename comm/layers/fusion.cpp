#include "comm/layers/fusion.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "comm/forwarding.hpp"
#include "comm/reduce.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

/// Tensors that are submitted as one call.
struct Batch {
  enum class State { idle, open, flying } state = State::idle;
  std::uint64_t number = 0;
  std::vector<std::byte> memory;
  std::vector<Call> members;
  /// One call for all members. It uses their own memory as long as each begins where the previous
  /// one ends.
  Call all;
  bool side_by_side = true;
  Request request;
};

/// True if b begins where a ends.
bool follows(const Buffer& a, const Buffer& b) {
  return static_cast<std::byte*>(a.data) + a.bytes() == b.data;
}

class Fusion final : public ForwardingCommunicator {
 public:
  Fusion(Communicator& under, std::size_t bytes) : ForwardingCommunicator(under), bytes_(bytes) {
    for (Batch& batch : batches_) {
      batch.memory.resize(bytes);
      batch.members.reserve(1024);
    }
  }
  std::size_t scratch_bytes() const override {
    return under().scratch_bytes() + bytes_ * batches_.size();
  }
  /// The count of a fused call is known only when it starts, so the warm-up writes its schedule.
  void prepare(const Call& call) override { under().prepare(call); }

  void describe(const Call& call, Execution& execution) const override {
    under().describe(call, execution);
    execution.implementation += copied_   ? ", fused in a buffer"
                                : joined_ ? ", fused where the data lie"
                                          : ", nothing fused";
    execution.numbers["fusion_bytes"] = static_cast<double>(bytes_);
  }

  Request start(const Call& call, Stream& stream) override {
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    stream_ = &stream;
    const bool fits = call.what == Collective::allreduce && call.send.bytes() <= bytes_;
    Batch* open = find(Batch::State::open);
    if (open && (!fits || open->all.send.type != call.send.type || open->all.op != call.op ||
                 open->all.send.bytes() + call.send.bytes() > bytes_)) {
      launch(*open);
      open = nullptr;
    }
    if (!fits) {
      Batch& alone = free_batch();
      alone.request = under().start(call, stream);
      alone.state = Batch::State::flying;
      return own_request(alone.number);
    }
    if (!open) {
      open = &free_batch();
      open->state = Batch::State::open;
      open->all = call;
      open->side_by_side = true;
    } else {
      open->side_by_side = open->side_by_side && follows(open->all.send, call.send) &&
                           follows(open->all.receive, call.receive);
      open->all.send.count += call.send.count;
      open->all.receive.count += call.receive.count;
    }
    open->members.push_back(call);
    return own_request(open->number);
  }

  void wait(Request& request) override {
    if (!is_own(request)) return ForwardingCommunicator::wait(request);
    if (Batch* batch = find(decode_number(request))) {
      if (batch->state == Batch::State::open) launch(*batch);
      land(*batch);
    }
    request = {};
  }
  bool done(Request& request) override {
    if (!is_own(request)) return ForwardingCommunicator::done(request);
    if (Batch* batch = find(decode_number(request))) {
      if (batch->state == Batch::State::open || !under().done(batch->request)) return false;
      land(*batch);
    }
    request = {};
    return true;
  }

 private:
  Batch* find(Batch::State state) {
    const auto place = std::find_if(batches_.begin(), batches_.end(),
                                    [&](const Batch& batch) { return batch.state == state; });
    return place == batches_.end() ? nullptr : &*place;
  }
  Batch* find(std::uint64_t number) {
    const auto place = std::find_if(batches_.begin(), batches_.end(), [&](const Batch& batch) {
      return batch.state != Batch::State::idle && batch.number == number;
    });
    return place == batches_.end() ? nullptr : &*place;
  }

  /// An idle batch, with a new number. If none is idle, waits for the oldest one under way.
  Batch& free_batch() {
    Batch* batch = find(Batch::State::idle);
    if (batch == nullptr) {
      for (Batch& other : batches_)
        if (other.state == Batch::State::flying &&
            (batch == nullptr || other.number < batch->number))
          batch = &other;
      if (batch == nullptr) throw std::logic_error("fusion: no batch is idle or under way");
      land(*batch);
    }
    batch->number = ++last_;
    return *batch;
  }
  /// Calls body(member, its part of the batch's buffer) unless the members are sent from their own
  /// memory.
  template <class Body>
  static void each_copied(Batch& batch, Body body) {
    if (batch.side_by_side) return;
    std::int64_t first = 0;
    for (const Call& member : batch.members) {
      body(member, batch.all.receive.part(first, member.receive.count));
      first += member.receive.count;
    }
  }
  void launch(Batch& batch) {
    joined_ = joined_ || batch.members.size() > 1;
    if (!batch.side_by_side) {
      copied_ = true;
      batch.all.send.data = batch.all.receive.data = batch.memory.data();
    }
    each_copied(batch, [](const Call& member, Buffer part) { copy(part, member.send); });
    batch.request = under().start(batch.all, *stream_);
    batch.state = Batch::State::flying;
  }
  void land(Batch& batch) {
    under().wait(batch.request);
    each_copied(batch, [](const Call& member, Buffer part) { copy(member.receive, part); });
    batch.members.clear();
    batch.state = Batch::State::idle;
  }

  std::size_t bytes_;
  // One batch fills while another is under way; the third serves a large tensor.
  std::array<Batch, 3> batches_;
  std::uint64_t last_ = 0;
  bool joined_ = false, copied_ = false;  ///< in some call so far
  Stream* stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_fusion(Communicator& under, std::size_t bytes) {
  return std::make_unique<Fusion>(under, bytes);
}

}  // namespace assay
