// Started transfers: non-blocking collectives and messages.

#include <fmt/format.h>

#include "comm/mpi/communicator.hpp"
#include "comm/reduce.hpp"
#include "core/base/error.hpp"

namespace assay::mpi {

namespace {

/// One type for all elements of a message that is longer than MPI's count: pieces of `longest` and
/// the rest. MPI keeps a freed type while a transfer uses it.
class LongType {
 public:
  LongType(Buffer data, std::int64_t longest) {
    const MPI_Datatype element = choose_transfer_type(data.type);
    MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, element};
    check(MPI_Type_contiguous(static_cast<int>(longest), element, &parts[0]),
          "MPI_Type_contiguous");
    const std::int64_t whole = data.count / longest;
    const int counts[2] = {static_cast<int>(whole), static_cast<int>(data.count % longest)};
    const MPI_Aint places[2] = {
        0, static_cast<MPI_Aint>(static_cast<std::size_t>(whole * longest) * size_of(data.type))};
    check(MPI_Type_create_struct(2, counts, places, parts, &type_), "MPI_Type_create_struct");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&parts[0]);
  }
  ~LongType() { MPI_Type_free(&type_); }
  LongType(const LongType&) = delete;
  LongType& operator=(const LongType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// `call` with the count and the type of the message.
template <class MpiCall>
void pass(Buffer data, std::int64_t longest, const char* what, MpiCall call) {
  if (data.count > longest)
    check(call(1, LongType(data, longest).get()), what);
  else
    check(call(static_cast<int>(data.count), choose_transfer_type(data.type)), what);
}

}  // namespace

Request MpiCommunicator::take() {
  const Request request{transfers_.take()};
  transfers_[request.handle] = {};
  return request;
}

void MpiCommunicator::begin(const Call& call, MPI_Request* handle) {
  const MPI_Datatype type = choose_transfer_type(call.receive.type);
  const auto count = static_cast<int>(call.receive.count);
  const bool same = call.send.data == call.receive.data;
  const bool mine = call.what != Collective::reduce || rank_ == call.root;
  switch (call.what) {
    case Collective::allreduce:
      check(MPI_Iallreduce(same ? MPI_IN_PLACE : call.send.data, call.receive.data, count, type,
                           operation(call.receive.type, call.op), comm_, handle),
            "MPI_Iallreduce");
      break;
    case Collective::reduce:
      check(MPI_Ireduce(same && mine ? MPI_IN_PLACE : call.send.data,
                        mine ? call.receive.data : nullptr, count, type,
                        operation(call.receive.type, call.op), call.root, comm_, handle),
            "MPI_Ireduce");
      break;
    case Collective::reduce_scatter:
      check(MPI_Ireduce_scatter_block(call.send.data, call.receive.data, count, type,
                                      operation(call.receive.type, call.op), comm_, handle),
            "MPI_Ireduce_scatter_block");
      break;
    case Collective::allgather: {
      const auto part = static_cast<int>(call.send.count);
      const bool in_place = call.send.data == call.receive.part(rank_ * call.send.count, 0).data;
      check(MPI_Iallgather(in_place ? MPI_IN_PLACE : call.send.data, part, type, call.receive.data,
                           part, type, comm_, handle),
            "MPI_Iallgather");
      break;
    }
    case Collective::broadcast:
      check(MPI_Ibcast(call.receive.data, count, type, call.root, comm_, handle), "MPI_Ibcast");
      break;
    case Collective::alltoall:
      check(MPI_Ialltoall(same ? MPI_IN_PLACE : call.send.data, count / size_, type,
                          call.receive.data, count / size_, type, comm_, handle),
            "MPI_Ialltoall");
      break;
    case Collective::barrier:
      check(MPI_Ibarrier(comm_, handle), "MPI_Ibarrier");
      break;
  }
}

Request MpiCommunicator::start(const Call& call, Stream& stream) {
  if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
  // A call of several steps runs to its end here, because nothing would start its next step later.
  if (in_pieces(call) || through_scratch(call)) {
    run(call, stream);
    return {};
  }
  Request request = take();
  begin(call, &transfers_[request.handle].request);
  const bool mine = call.what != Collective::reduce || rank_ == call.root;
  if (combines(call.what) && call.op == ReduceOp::average && mine)
    transfers_[request.handle].average = call.receive;
  return request;
}

Request MpiCommunicator::send(Buffer data, int to, int tag, Stream&) {
  const Request request = take();
  pass(data, longest_call, "MPI_Isend", [&](int count, MPI_Datatype type) {
    return MPI_Isend(data.data, count, type, to, tag, comm_, &transfers_[request.handle].request);
  });
  return request;
}

Request MpiCommunicator::receive(Buffer data, int from, int tag, Stream&) {
  const Request request = take();
  Transfer& transfer = transfers_[request.handle];
  transfer.is_receive = true;
  transfer.message = data;
  pass(data, longest_call, "MPI_Irecv", [&](int count, MPI_Datatype type) {
    return MPI_Irecv(data.data, count, type, from, tag, comm_, &transfer.request);
  });
  return request;
}

void MpiCommunicator::finish(Request& request, const MPI_Status& status) {
  const Transfer ended = transfers_[request.handle];
  transfers_.give_back(request.handle);
  request = {};
  if (ended.average.count > 0) scale(ended.average, size_);
  if (!ended.is_receive) return;
  MPI_Count count = 0;  // MPI_UNDEFINED (negative) if it is not a whole number of elements
  check(MPI_Get_elements_x(&status, choose_transfer_type(ended.message.type), &count),
        "MPI_Get_elements_x");
  if (count != ended.message.count)
    throw CaseError(fmt::format("received {} elements where {} were expected (rank {}, tag {})",
                                count, ended.message.count, status.MPI_SOURCE, status.MPI_TAG));
}

void MpiCommunicator::wait(Request& request) {
  if (request.handle == 0) return;
  MPI_Status status;
  check(MPI_Wait(&transfers_[request.handle].request, &status), "MPI_Wait");
  finish(request, status);
}

bool MpiCommunicator::done(Request& request) {
  if (request.handle == 0) return true;
  MPI_Status status;
  int finished = 0;
  check(MPI_Test(&transfers_[request.handle].request, &finished, &status), "MPI_Test");
  if (finished == 0) return false;
  finish(request, status);
  return true;
}

}  // namespace assay::mpi
