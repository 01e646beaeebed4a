#include "comm/algorithms/shared_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/registered_memory.hpp"
#include "comm/algorithms/schedule.hpp"
#include "comm/algorithms/shared_blocks.hpp"
#include "comm/algorithms/shared_segment.hpp"
#include "comm/algorithms/store_choice.hpp"
#include "comm/algorithms/streamed_copy.hpp"
#include "comm/forwarding.hpp"
#include "comm/reduce.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

/// A call is cut into blocks, and a block into one slice for each rank. A block takes three steps:
///   contribute: a rank publishes its contribution to the other ranks' slices;
///   reduce: after all ranks have contributed, a rank reduces its own slice and publishes it;
///   collect: after all ranks have reduced, a rank copies the other slices.
/// A rank runs contribute(k), reduce(k - 1) and collect(k - 2) in turn, so it seldom waits.
///
/// Contributions and slices each have `places` = 3 places in the segment, used in turn. No flags
/// are needed to know that a place is free. Before contribute(k), this rank has done the collect
/// of block k - 3, for which all ranks had done its reduce, the last reader of the contribution.
/// Before reduce(k), all ranks have done contribute(k), and before that the collect of block k - 3,
/// the last reader of the slice. The numbers of blocks continue from call to call.
///
/// A buffer in registered memory is visible to all ranks and needs no places: the other ranks read
/// the contribution in this buffer, and write their slices of the result to it. Each rank publishes
/// the addresses of its buffers before its first `contributed` of a call. The other ranks use them
/// until their last `reduced`, for which this rank waits. This is also safe in place: only the rank
/// that reduces a slice reads it on any rank, and it writes a tile after it has read that tile on
/// all ranks.
///
/// Data have the same offset in a cache line in a place as in their buffer. Long buffers of malloc
/// begin 16 bytes behind the beginning of a line; with another offset in the place, vectors would
/// cross lines on one side.
///
/// A long result that is not in place may be written past the caches: prepare() measures which way
/// is faster. A fence orders such writes before the flag that announces them; the flag's own
/// release store does not.
constexpr std::uint64_t places = 3;

/// Bytes of a rank's contribution to a block. All places of two ranks should stay in a second-level
/// cache.
constexpr std::size_t contribution_bytes = std::size_t{128} * 1024;
constexpr std::size_t tile_bytes = std::size_t{16} * 1024;
constexpr std::size_t line = 128;  // two cache lines: processors fetch lines in pairs

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct Flags {
  alignas(line) std::atomic<std::uint64_t> contributed;
  alignas(line) std::atomic<std::uint64_t> reduced;
  /// The buffers of the call under way.
  alignas(line) RegisteredMemory::Place send, receive;
  std::uint64_t send_at, receive_at;  ///< offsets in a line
  std::int64_t length;
  DataType type;
  Collective what;
};

class SharedMemory final : public ForwardingCommunicator {
 public:
  SharedMemory(Communicator& ranks, std::unique_ptr<SharedSegment> segment, std::size_t slice,
               std::optional<bool> streamed)
      : ForwardingCommunicator(ranks),
        segment_(std::move(segment)),
        slice_(slice),
        rank_(ranks.rank()),
        size_(ranks.size()),
        spins_(size_ > sysconf(_SC_NPROCESSORS_ONLN) ? 0 : 20000),
        registered_(ranks),
        stores_(ranks, streamed),
        seen_(static_cast<std::size_t>(size_)) {
    goes_to_.reserve(seen_.size());
  }

  static std::size_t choose_slice(int ranks) {
    const std::size_t even = contribution_bytes / static_cast<std::size_t>(ranks) / line * line;
    return std::max<std::size_t>(even, 4096);
  }
  static std::size_t bytes_of_rank(int ranks) {
    return sizeof(Flags) +
           places * (choose_slice(ranks) + line) * static_cast<std::size_t>(ranks + 1);
  }

  std::string why_not(const Call& call) const override {
    if (const std::string reason = why_not_counts(call, size_); !reason.empty()) return reason;
    return combines(call.what) ? why_not_reduce(call.receive.type, call.op) : "";
  }
  void prepare(const Call& call) override {
    registered_.show();
    stores_.measure(call, choose_kind(call), registered_,
                    [this](const Call& trial, bool streamed) { transfer(trial, streamed); });
  }
  std::shared_ptr<void> allocate(std::size_t bytes) override { return registered_.allocate(bytes); }
  void describe(const Call& call, Execution& execution) const override {
    std::string how = "shared_memory in slices of at most " + std::to_string(slice_) + " bytes";
    // Describes the last call: this rank's buffers, or the root's if only the root sends or
    // receives.
    const bool sends = call.what != Collective::broadcast || rank_ == call.root;
    const bool gets = call.what != Collective::reduce || rank_ == call.root;
    const bool seen = (gets ? place_of_result(call) : flags(call.root).receive).object != 0;
    if ((sends ? place_of_send(call) : flags(call.root).send).object != 0)
      how += ", contributions read where they stand";
    if (seen) how += ", results put where they belong";
    if (streams(call) && (gets || seen))
      how += ", results written past the caches, which was the faster way";
    describe_own(how, call, execution);
  }
  std::size_t scratch_bytes() const override { return segment_->bytes_of_rank(); }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

  void run(const Call& call, Stream&) override {
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    transfer(call, streams(call));
  }

 private:
  using Range = SharedBlocks::Range;

  void transfer(const Call& call, bool streamed) {
    const SharedBlocks blocks(call, size_, slice_);
    Flags& mine = flags(rank_);
    mine.send = place_of_send(call);
    mine.receive = place_of_result(call);
    mine.send_at = in_line(contributed(call).data);
    mine.receive_at = in_line(call.receive.data);
    seen_[static_cast<std::size_t>(rank_)] = {nullptr, nullptr, mine.send_at, mine.receive_at};
    mine.length = blocks.length();
    mine.type = call.receive.type;
    mine.what = call.what;
    streamed_ = streamed;
    for (std::uint64_t k = 0; k < blocks.count() + 2 && blocks.count() > 0; ++k) {
      if (k < blocks.count()) {
        contribute(call, blocks, k);
        flags(rank_).contributed.store(block_ + k + 1, std::memory_order_release);
      }
      if (k >= 1 && k <= blocks.count()) {
        for (int other = 0; other < size_; ++other) await(flags(other).contributed, block_ + k);
        if (k == 1) look(mine);
        reduce(call, blocks, k - 1);
        if (streamed_) fence_streamed();
        flags(rank_).reduced.store(block_ + k, std::memory_order_release);
      }
      if (k >= 2) {
        for (int other = 0; other < size_; ++other) await(flags(other).reduced, block_ + k - 1);
        collect(call, blocks, k - 2);
      }
    }
    if (streamed_) fence_streamed();
    block_ += blocks.count();
  }

  bool streams(const Call& call) const { return stores_.is_streamed(call, choose_kind(call)); }
  StoreChoice::Kind choose_kind(const Call& call) const {
    return {call, place_of_send(call).object != 0, place_of_result(call).object != 0};
  }
  void put(Buffer into, Buffer from) const {
    streamed_ ? copy_streamed(into, from) : copy(into, from);
  }

  Flags& flags(int rank) const { return *reinterpret_cast<Flags*>(segment_->of_rank(rank)); }
  /// The buffer that is contributed; a broadcast has only the receive buffer.
  static const Buffer& contributed(const Call& call) {
    return call.what == Collective::broadcast ? call.receive : call.send;
  }
  static std::uint64_t in_line(const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % line;
  }
  /// A place of `rank` for a range of a buffer; `begins`: the buffer's offset in a line.
  Buffer place(int rank, std::uint64_t number, std::uint64_t begins, Range range,
               DataType type) const {
    const auto first = static_cast<std::uint64_t>(range.first) * size_of(type);
    return {segment_->of_rank(rank) + sizeof(Flags) + number * (slice_ + line) +
                (begins + first) % line,
            range.count, type};
  }
  /// The place to which `rank` copies its contribution to `slice` of block k.
  Buffer put_at(std::uint64_t k, int rank, int slice, Range range, DataType type) const {
    return place(rank,
                 (block_ + k) % places * static_cast<std::uint64_t>(size_) +
                     static_cast<std::uint64_t>(slice),
                 seen_[static_cast<std::size_t>(rank)].send_at, range, type);
  }
  /// The place of another rank's contribution.
  Buffer contribution(std::uint64_t k, int rank, int slice, Range range, DataType type) const {
    if (std::byte* const send = seen_[static_cast<std::size_t>(rank)].send)
      return Buffer{send, range.first + range.count, type}.part(range.first, range.count);
    return put_at(k, rank, slice, range, type);
  }
  /// The place of `rank`'s reduced slice of block k.
  Buffer reduced(std::uint64_t k, int rank, Range range, DataType type) const {
    return place(rank, places * static_cast<std::uint64_t>(size_) + (block_ + k) % places,
                 seen_[static_cast<std::size_t>(rank)].receive_at, range, type);
  }

  RegisteredMemory::Place place_of_send(const Call& call) const {
    if (call.what == Collective::broadcast)
      return rank_ == call.root ? registered_.place(call.receive) : RegisteredMemory::Place();
    // An in-place alltoall would overwrite data that another rank still has to read.
    if (call.what == Collective::alltoall && call.send.data == call.receive.data) return {};
    return registered_.place(call.send);
  }
  RegisteredMemory::Place place_of_result(const Call& call) const {
    return gets_result(call) ? registered_.place(call.receive) : RegisteredMemory::Place();
  }
  /// Reads the published calls of the other ranks. With calls of different sizes, ranks would
  /// access memory beyond the end of a buffer.
  void look(const Flags& mine) {
    for (int other = 0; other < size_; ++other) {
      const Flags& theirs = flags(other);
      if (theirs.length != mine.length || theirs.type != mine.type || theirs.what != mine.what)
        throw CaseError("rank " + std::to_string(other) + " makes another call (" +
                        std::string(name(theirs.what)) + " of " + std::to_string(theirs.length) +
                        " " + std::string(name(theirs.type)) + ") than rank " +
                        std::to_string(rank_) + " (" + std::string(name(mine.what)) + " of " +
                        std::to_string(mine.length) + " " + std::string(name(mine.type)) + ")");
      if (other != rank_)
        seen_[static_cast<std::size_t>(other)] = {registered_.at(other, theirs.send),
                                                  registered_.at(other, theirs.receive),
                                                  theirs.send_at, theirs.receive_at};
    }
  }
  /// A rank that waits long yields its processor, since there may be fewer processors than ranks.
  void await(const std::atomic<std::uint64_t>& flag, std::uint64_t value) const {
    for (int spins = 0; flag.load(std::memory_order_acquire) < value; ++spins)
      if (spins >= spins_) std::this_thread::yield();
  }

  void contribute(const Call& call, const SharedBlocks& blocks, std::uint64_t k) const {
    if (call.what == Collective::barrier) return;
    const bool from_root = call.what == Collective::broadcast;
    if (from_root && rank_ != call.root) return;
    const Buffer& data = contributed(call);
    if (flags(rank_).send.object != 0) return;
    if (call.what == Collective::allgather) {
      const Range own = blocks.slice(k, 0);  // of my own part, which begins at 0
      return copy(put_at(k, rank_, 0, own, data.type), data.part(own.first, own.count));
    }
    for (int slice = 0; slice < size_; ++slice) {
      if (slice == rank_ && !from_root) continue;
      const Range elements = blocks.slice(k, slice);
      copy(put_at(k, rank_, slice, elements, data.type), data.part(elements.first, elements.count));
    }
  }

  void reduce(const Call& call, const SharedBlocks& blocks, std::uint64_t k) {
    switch (call.what) {
      case Collective::barrier:
        return;
      case Collective::broadcast:
        return take_broadcast(call, blocks, k);
      case Collective::allgather:
      case Collective::alltoall:
        return take_parts(call, blocks, k);
      default:
        return reduce_slice(call, blocks, k);
    }
  }

  void take_broadcast(const Call& call, const SharedBlocks& blocks, std::uint64_t k) const {
    const Buffer& into = call.receive;
    for (int slice = 0; slice < size_ && rank_ != call.root; ++slice) {
      const Range elements = blocks.slice(k, slice);
      put(into.part(elements.first, elements.count),
          contribution(k, call.root, slice, elements, into.type));
    }
  }

  /// The rank's slices of an allgather or alltoall.
  void take_parts(const Call& call, const SharedBlocks& blocks, std::uint64_t k) const {
    const Buffer& into = call.receive;
    const bool gathers = call.what == Collective::allgather;
    const Range own = blocks.slice(k, gathers ? 0 : rank_);  // in the send buffer of each rank
    for (int from = 0; from < size_; ++from) {
      if (gathers && from == rank_ && in_place(call, rank_)) continue;
      const Range elements = blocks.slice(k, from);
      put(into.part(elements.first, elements.count),
          from == rank_ ? call.send.part(own.first, own.count)
                        : contribution(k, from, gathers ? 0 : rank_, own, into.type));
    }
  }

  /// Combines contributions in the order of ranks, so the result does not depend on the rank that
  /// reduces. It does not reduce in `receive`, which in place holds contributions that must still
  /// be read. A tile of the result is still in the first-level cache when it is copied to its
  /// destinations.
  void reduce_slice(const Call& call, const SharedBlocks& blocks, std::uint64_t k) {
    const Buffer& into = call.receive;
    const Range own = blocks.slice(k, rank_);
    const Buffer sum = reduced(k, rank_, own, into.type);
    const Buffer result = into.part(
        own.first - (call.what == Collective::reduce_scatter ? rank_ * blocks.length() : 0),
        gets_result(call) || call.what == Collective::reduce_scatter ? own.count : 0);
    const auto tile = static_cast<std::int64_t>(tile_bytes / size_of(into.type));
    bool collected = false;  // some rank collects the slice from `sum`; else one tile suffices
    for (int rank = 0; rank < size_; ++rank)
      collected |= rank != rank_ && seen_[static_cast<std::size_t>(rank)].receive == nullptr;
    for (std::int64_t first = 0; first < own.count; first += tile) {
      const std::int64_t count = std::min(tile, own.count - first);
      const auto of_rank = [&](int rank) {
        return rank == rank_ ? call.send.part(own.first + first, count)
                             : contribution(k, rank, rank_, own, into.type).part(first, count);
      };
      goes_to_.clear();
      if (result.count > 0)
        goes_to_.push_back(static_cast<std::byte*>(result.part(first, count).data));
      for (const Seen& other : seen_)
        if (other.receive != nullptr)
          goes_to_.push_back(static_cast<std::byte*>(
              Buffer{other.receive, into.count, into.type}.part(own.first + first, count).data));
      const Buffer part = sum.part(collected ? first : 0, count);
      const bool at_once = streamed_ && call.op != ReduceOp::average;
      for (int rank = 1; rank < size_; ++rank) {
        const bool last = rank == size_ - 1;
        combine(part, rank == 1 ? of_rank(0) : part, of_rank(rank), call.op,
                at_once && last ? std::span<std::byte* const>(goes_to_)
                                : std::span<std::byte* const>());
      }
      if (call.op == ReduceOp::average) scale(part, size_);
      if (!at_once)
        for (std::byte* const to : goes_to_) put({to, count, into.type}, part);
    }
  }

  /// True if this rank gets the whole result.
  bool gets_result(const Call& call) const {
    return call.what == Collective::allreduce ||
           (call.what == Collective::reduce && rank_ == call.root);
  }

  void collect(const Call& call, const SharedBlocks& blocks, std::uint64_t k) const {
    if (!gets_result(call) || flags(rank_).receive.object != 0) return;
    for (int slice = 0; slice < size_; ++slice) {
      if (slice == rank_) continue;
      const Range elements = blocks.slice(k, slice);
      put(call.receive.part(elements.first, elements.count),
          reduced(k, slice, elements, call.receive.type));
    }
  }

  std::unique_ptr<SharedSegment> segment_;
  std::size_t slice_;
  int rank_, size_;
  int spins_;
  RegisteredMemory registered_;
  StoreChoice stores_;
  /// The buffers of each rank: their addresses in this process (null: the contribution is in its
  /// places, the result is collected), and their offsets in a line.
  struct Seen {
    std::byte *send = nullptr, *receive = nullptr;
    std::uint64_t send_at = 0, receive_at = 0;
  };
  std::vector<Seen> seen_;
  std::vector<std::byte*> goes_to_;
  std::uint64_t block_ = 0;  ///< of all calls so far
  bool streamed_ = false;    ///< the call under way writes its result past the caches
};

}  // namespace

Result<std::unique_ptr<Communicator>> shared_memory(Communicator& ranks,
                                                    std::optional<bool> streamed) {
  if (ranks.nodes() > 1)
    return Unsupported{"shared_memory needs one node (there are " + std::to_string(ranks.nodes()) +
                       ")"};
  if (ranks.size() == 1) return std::make_unique<ForwardingCommunicator>(ranks);
  auto segment = SharedSegment::make(ranks, SharedMemory::bytes_of_rank(ranks.size()));
  if (auto* refusal = std::get_if<Unsupported>(&segment)) return std::move(*refusal);
  return std::make_unique<SharedMemory>(
      ranks, std::move(std::get<std::unique_ptr<SharedSegment>>(segment)),
      SharedMemory::choose_slice(ranks.size()), streamed);
}

}  // namespace assay
