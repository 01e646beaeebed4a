#include "comm/mpi/communicator.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>

#include "comm/reduce.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay::mpi {

namespace {

int count_elements(Buffer buffer) { return static_cast<int>(buffer.count); }

/// MPI's name of the collective.
const char* name_function(Collective what) {
  constexpr const char* names[] = {"MPI_Allreduce", "MPI_Reduce", "MPI_Reduce_scatter_block",
                                   "MPI_Allgather", "MPI_Bcast",  "MPI_Alltoall",
                                   "MPI_Barrier"};
  return names[static_cast<int>(what)];
}

bool same(const Buffer& a, const Buffer& b) {
  return a.data == b.data && a.count == b.count && a.type == b.type;
}
bool same(const Call& a, const Call& b) {
  return a.what == b.what && a.op == b.op && a.root == b.root && same(a.send, b.send) &&
         same(a.receive, b.receive);
}

/// Elements of the largest array that a call touches.
std::int64_t elements(const Call& call, int ranks) {
  switch (call.what) {
    case Collective::reduce_scatter:
      return call.receive.count * ranks;
    case Collective::allgather:
      return call.send.count * ranks;
    case Collective::barrier:
      return 0;
    default:
      return call.receive.count;
  }
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm, int node) : comm_(comm) {
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  std::vector<int> all(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&node, 1, MPI_INT, all.data(), 1, MPI_INT, comm_), "MPI_Allgather");
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  nodes_ = static_cast<int>(all.size());
  node_ = static_cast<int>(std::lower_bound(all.begin(), all.end(), node) - all.begin());
}

MpiCommunicator::~MpiCommunicator() {
  int over = 0;
  MPI_Finalized(&over);
  // Freeing is collective: a rank that leaves by an exception does not wait for the others.
  if (over == 0 && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

std::string MpiCommunicator::host() const {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, color, key, &part), "MPI_Comm_split");
  return std::make_unique<MpiCommunicator>(part, node_);
}

bool MpiCommunicator::in_pieces(const Call& call) const {
  return elements(call, size_) > longest_call;
}

/// A reduce_scatter with MPI_IN_PLACE writes the result to the beginning of the whole buffer; Assay
/// needs it in the rank's own part.
bool MpiCommunicator::through_scratch(const Call& call) const {
  return call.what == Collective::reduce_scatter &&
         call.receive.data == call.send.part(rank_ * call.receive.count, 0).data;
}

std::string MpiCommunicator::why_not(const Call& call) const {
  if (std::string reason = why_not_counts(call, size_); !reason.empty()) return reason;
  if (call.root < 0 || call.root >= size_)
    return fmt::format("no rank {} among {}", call.root, size_);
  if (combines(call.what))
    if (std::string reason = why_not_reduce(call.receive.type, call.op); !reason.empty())
      return reason;
#if defined(MPICH_NUMVERSION)
  // All ranks must refuse together, but each sees only its own buffers: a call is in place on all
  // ranks or on none.
  if (call.what == Collective::reduce && call.root != 0 && call.send.count > 0 &&
      call.send.data == call.receive.data)
    return "MPI_Reduce in place crashes in MPICH (seen in 4.0.2) where the root is not rank 0";
#endif
  const bool divisible = call.what == Collective::allreduce || call.what == Collective::reduce ||
                         call.what == Collective::broadcast;
  if (!divisible && in_pieces(call))
    return fmt::format(
        "{} of {} elements (MPI counts in int, so a call of {} has at most {} here; allreduce, "
        "reduce and broadcast are split)",
        name(call.what), elements(call, size_), name_function(call.what), longest_call);
  return "";
}

void MpiCommunicator::prepare(const Call& call) {
  if (combines(call.what)) operation(call.receive.type, call.op);  // made now, once
  if (through_scratch(call)) scratch_.resize(std::max(scratch_.size(), call.receive.bytes()));
}

std::shared_ptr<void> MpiCommunicator::allocate(std::size_t bytes) {
  // MPI does not guarantee an alignment, and comparisons need equal alignments.
  constexpr std::size_t line = 64;
  std::size_t room = bytes + line;
  void* data = nullptr;
  check(MPI_Alloc_mem(static_cast<MPI_Aint>(room), MPI_INFO_NULL, &data), "MPI_Alloc_mem");
  void* const whole = data;
  return {std::align(line, bytes, data, room), [whole](void*) { MPI_Free_mem(whole); }};
}

void MpiCommunicator::describe(const Call& call, Execution& execution) const {
  execution.implementation = library_name() + " " + name_function(call.what);
  execution.evidence = "library";
  if (combines(call.what) && own_operation(call.receive.type)) {
    execution.implementation += " with Assay's MPI_Op (MPI has no 16-bit floats)";
    execution.compute = execution.accumulate = "fp32, rounded after each addition";
  }
  if (combines(call.what) && call.op == ReduceOp::average)
    execution.implementation += ", then a division";
  if (through_scratch(call)) execution.implementation += ", through scratch memory";
  if (in_pieces(call)) execution.implementation += fmt::format(", in pieces of {}", longest_call);
}

void MpiCommunicator::reduce(const Call& call) {
  const MPI_Datatype type = choose_transfer_type(call.send.type);
  const MPI_Op op = operation(call.send.type, call.op);
  const bool everywhere = call.what == Collective::allreduce;
  const bool mine = everywhere || rank_ == call.root;
  const bool in_place = mine && call.send.data == call.receive.data;
  for (std::int64_t first = 0; first == 0 || first < call.send.count; first += longest_call) {
    const std::int64_t count = std::min(longest_call, call.send.count - first);
    const Buffer from = call.send.part(first, count);
    void* into = mine ? call.receive.part(first, count).data : nullptr;
    const void* send = in_place ? MPI_IN_PLACE : from.data;
    check(everywhere ? MPI_Allreduce(send, into, count_elements(from), type, op, comm_)
                     : MPI_Reduce(send, into, count_elements(from), type, op, call.root, comm_),
          name_function(call.what));
  }
  if (call.op == ReduceOp::average && mine) scale(call.receive, size_);
}

void MpiCommunicator::reduce_scatter(const Call& call) {
  const bool detour = through_scratch(call);
  Buffer into = call.receive;
  if (detour) {
    if (scratch_.size() < into.bytes()) scratch_.resize(into.bytes());
    into.data = scratch_.data();
  }
  check(MPI_Reduce_scatter_block(call.send.data, into.data, count_elements(into),
                                 choose_transfer_type(into.type), operation(into.type, call.op),
                                 comm_),
        "MPI_Reduce_scatter_block");
  if (detour) copy(call.receive, into);
  if (call.op == ReduceOp::average) scale(call.receive, size_);
}

void MpiCommunicator::move(const Call& call) {
  const MPI_Datatype type = choose_transfer_type(call.receive.type);
  if (call.what == Collective::broadcast) {
    for (std::int64_t first = 0; first == 0 || first < call.receive.count; first += longest_call) {
      const Buffer part =
          call.receive.part(first, std::min(longest_call, call.receive.count - first));
      check(MPI_Bcast(part.data, count_elements(part), type, call.root, comm_), "MPI_Bcast");
    }
  } else if (call.what == Collective::allgather) {
    const int part = count_elements(call.send);
    const bool in_place = call.send.data == call.receive.part(rank_ * call.send.count, 0).data;
    check(MPI_Allgather(in_place ? MPI_IN_PLACE : call.send.data, part, type, call.receive.data,
                        part, type, comm_),
          "MPI_Allgather");
  } else {
    const int part = static_cast<int>(call.send.count / size_);
    const bool in_place = call.send.data == call.receive.data;
    check(MPI_Alltoall(in_place ? MPI_IN_PLACE : call.send.data, part, type, call.receive.data,
                       part, type, comm_),
          "MPI_Alltoall");
  }
}

void MpiCommunicator::run(const Call& call, Stream&) {
  // why_not() takes a few per cent of the time of a call of 1 KiB, and timed calls are equal.
  if (!same(call, allowed_)) {
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    allowed_ = call;
  }
  switch (call.what) {
    case Collective::allreduce:
    case Collective::reduce:
      return reduce(call);
    case Collective::reduce_scatter:
      return reduce_scatter(call);
    case Collective::barrier:
      return barrier();
    default:
      return move(call);
  }
}

void MpiCommunicator::abort(const std::string& why, ExitCode code) {
  std::cerr << why << std::endl;
  MPI_Abort(comm_, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

void MpiCommunicator::barrier() { check(MPI_Barrier(comm_), "MPI_Barrier"); }

void MpiCommunicator::allreduce_max(std::span<double> values) {
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                      MPI_MAX, comm_),
        "MPI_Allreduce");
}

double MpiCommunicator::broadcast(double value) {
  check(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, comm_), "MPI_Bcast");
  return value;
}

std::vector<std::string> MpiCommunicator::allgather(const std::string& text) {
  const int mine = static_cast<int>(text.size());
  std::vector<int> lengths(static_cast<std::size_t>(size_)), places(lengths.size());
  check(MPI_Allgather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_), "MPI_Allgather");
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    places[i] = total;
    total += lengths[i];
  }
  std::string joined(static_cast<std::size_t>(total), '\0');
  check(MPI_Allgatherv(text.data(), mine, MPI_CHAR, joined.data(), lengths.data(), places.data(),
                       MPI_CHAR, comm_),
        "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    texts.push_back(
        joined.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
  return texts;
}

}  // namespace assay::mpi
