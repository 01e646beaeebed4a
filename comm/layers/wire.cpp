#include "comm/layers/wire.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "comm/forwarding.hpp"
#include "comm/reduce.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

class Wire final : public ForwardingCommunicator {
 public:
  Wire(Communicator& under, DataType wire) : ForwardingCommunicator(under), wire_(wire) {}

  std::string why_not(const Call& call) const override {
    const std::string wire_name = std::string(name(wire_));
    if (call.what != Collective::allreduce)
      return "no " + std::string(name(call.what)) + " with wire=" + wire_name +
             " (allreduce has it)";
    if (call.receive.type != DataType::fp32 && call.receive.type != DataType::fp64)
      return "wire=" + wire_name + " compresses fp32 and fp64 (the data are " +
             std::string(name(call.receive.type)) + ")";
    if (std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
    std::string reason = under().why_not(exchange(call));
    if (reason.empty()) reason = under().why_not(collection(call));
    return reason.empty() ? "" : "wire=" + wire_name + " needs alltoall and allgather: " + reason;
  }
  void prepare(const Call& call) override {
    make_room(call);
    under().prepare(exchange(call));
    under().prepare(collection(call));
  }
  std::size_t scratch_bytes() const override {
    return under().scratch_bytes() + sent_.size() + received_.size() + sum_.size();
  }

  void describe(const Call& call, Execution& execution) const override {
    under().describe(exchange(call), execution);
    execution.implementation = "Assay's wire=" + std::string(name(wire_)) + " over " +
                               execution.implementation + " and allgather";
    execution.compute = execution.accumulate = name(call.receive.type);
    execution.wire_bits = static_cast<int>(std::lround(-std::log2(unit_roundoff(wire_))));
  }

  void run(const Call& call, Stream& stream) override {
    if (call.what != Collective::allreduce) throw CaseError(why_not(call));
    if (call.send.count == 0) return;
    make_room(call);
    const Call exchanged = exchange(call), collected = collection(call);
    Buffer filled = exchanged.send;
    filled.count = call.send.count;
    convert(filled, call.send);
    const std::int64_t padding = exchanged.send.count - call.send.count;
    const Buffer rest = exchanged.send.part(call.send.count, padding);
    if (padding > 0) std::memset(rest.data, 0, rest.bytes());
    stream.wait();
    under().run(exchanged, stream);
    stream.wait();

    // Each block stays in the first-level cache, with the contributions that are added to it.
    const std::int64_t part = count_part(call);
    const Buffer own = collected.send;
    for (std::int64_t first = 0; first < part; first += block) {
      const std::int64_t count = std::min(block, part - first);
      const Buffer sum{sum_.data(), count, call.receive.type};
      const Buffer contribution{sum_.data() + block * sizeof(double), count, call.receive.type};
      for (int rank = 0; rank < size(); ++rank) {
        convert(rank == 0 ? sum : contribution, exchanged.receive.part(rank * part + first, count));
        if (rank > 0) reduce_into(sum, contribution, call.op);
      }
      if (call.op == ReduceOp::average) scale(sum, size());
      convert(own.part(first, count), sum);
    }
    under().run(collected, stream);
    stream.wait();
    Buffer result = collected.receive;
    result.count = call.receive.count;
    convert(call.receive, result);
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

 private:
  static constexpr std::int64_t block = 2048;

  std::int64_t count_part(const Call& call) const {
    return (call.send.count + size() - 1) / size();
  }
  /// The calls below: all ranks' contributions to my part, then all parts' sums.
  Call exchange(const Call& call) const {
    const std::int64_t count = count_part(call) * size();
    return {Collective::alltoall,
            {const_cast<std::byte*>(sent_.data()), count, wire_},
            {const_cast<std::byte*>(received_.data()), count, wire_},
            ReduceOp::sum,
            0};
  }
  /// In place: my part is in the buffer into which the whole is gathered.
  Call collection(const Call& call) const {
    const Buffer whole = exchange(call).receive;
    const std::int64_t part = count_part(call);
    return {Collective::allgather, whole.part(rank() * part, part), whole, ReduceOp::sum, 0};
  }

  void make_room(const Call& call) {
    const std::size_t bytes = static_cast<std::size_t>(count_part(call) * size()) * size_of(wire_);
    if (sent_.size() < bytes) {
      sent_.resize(bytes);
      received_.resize(bytes);
    }
    if (sum_.empty()) sum_.resize(2 * block * sizeof(double));
  }

  DataType wire_;
  std::vector<std::byte> sent_, received_, sum_;
};

}  // namespace

std::unique_ptr<Communicator> wire_compressed(Communicator& under, DataType wire) {
  if (wire != DataType::fp16 && wire != DataType::bf16)
    throw InputError("wire=" + std::string(name(wire)) +
                     " is not a type for wire compression (it has 16 bits). Use fp16 or bf16.");
  return std::make_unique<Wire>(under, wire);
}

double wire_bound(DataType wire, DataType type, ReduceOp op, int ranks, double sum,
                  double absolute) {
  const double u = unit_roundoff(wire), v = unit_roundoff(type);
  // Below the least normal number the rounding error is absolute: half the least subnormal number.
  const double least = wire == DataType::fp16 ? 0x1p-25 : 0x1p-134;
  if (op == ReduceOp::min || op == ReduceOp::max) return u * std::fabs(sum) + least;
  const double n = ranks;
  const double additions = (n - 1) * v / (1 - (n - 1) * v);
  const double contributions = (u + additions * (1 + u)) * absolute + n * least * (1 + additions);
  const double by = op == ReduceOp::average ? n : 1;
  const double before = contributions / by +
                        (op == ReduceOp::average ? v : 0) * (std::fabs(sum) + contributions / by);
  return before + u * (std::fabs(sum) + before) + least;
}

}  // namespace assay
