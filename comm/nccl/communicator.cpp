#include "comm/nccl/communicator.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "comm/reduce.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"
#include "support/cuda/device.hpp"
#include "support/cuda/error.hpp"

namespace assay::nccl {

namespace {

ncclDataType_t to_library_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return ncclFloat64;
    case DataType::bf16:
      return ncclBfloat16;
    case DataType::fp16:
      return ncclFloat16;
    case DataType::s32:
      return ncclInt32;
    case DataType::s8:
      return ncclInt8;
    case DataType::u8:
    case DataType::fp8_e4m3:  // moved, never reduced (why_not_reduce)
    case DataType::fp8_e5m2:
      return ncclUint8;
    default:
      return ncclFloat32;
  }
}

ncclRedOp_t find_operation(ReduceOp op) {
  if (op == ReduceOp::max) return ncclMax;
  if (op == ReduceOp::min) return ncclMin;
  return op == ReduceOp::average ? ncclAvg : ncclSum;
}

}  // namespace

void check(ncclResult_t result, const std::string& what, ncclComm_t communicator) {
  if (result == ncclSuccess) return;
  std::string text = what + " failed (NCCL: " + ncclGetErrorString(result);
  if (const char* last = ncclGetLastError(communicator); last != nullptr && *last != '\0')
    text += std::string(": ") + last;
  if (result == ncclUnhandledCudaError)
    if (const std::string below = cuda::pending(); !below.empty()) text += "; CUDA: " + below;
  throw CaseError(text + ")");
}

std::string format_version(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string version() {
  int code = 0;
  check(ncclGetVersion(&code), "ncclGetVersion");
  return format_version(code);
}

NcclCommunicator::Mark::Mark() {
  cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
}
NcclCommunicator::Mark::~Mark() { cudaEventDestroy(event); }

NcclCommunicator::NcclCommunicator(Ranks ranks) : KnownRanks(std::move(ranks)) {
  Communicator& known = *this->ranks().known;
  ncclUniqueId id{};
  std::string failure;
  if (known.rank() == 0) {
    try {
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    } catch (const CaseError& error) {
      failure = error.what();
    }
  }
  failure = known.allgather(failure)[0];
  const std::vector<char> bytes = unhex(known.allgather(hex(id.internal))[0]);
  if (!failure.empty()) throw CaseError(failure);
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  check(ncclCommInitRank(&library_, known.size(), id, known.rank()), "ncclCommInitRank");
  cuda::check(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "making a stream");
}

NcclCommunicator::~NcclCommunicator() {
  if (library_ != nullptr) ncclCommDestroy(library_);
  if (beside_ != nullptr) cudaStreamDestroy(beside_);
}

std::unique_ptr<Communicator> NcclCommunicator::split(int color, int key) {
  return std::make_unique<NcclCommunicator>(select_part(ranks(), color, key));
}

std::string NcclCommunicator::why_not(const Call& call) const {
  if (std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
  if (call.what == Collective::barrier) return "nccl has no barrier";
  if (combines(call.what))
    if (std::string reason = why_not_reduce(call.receive.type, call.op); !reason.empty())
      return reason;
  if (call.what == Collective::alltoall && call.send.count > 0 &&
      call.send.data == call.receive.data)
    return "nccl has no alltoall in place";
  return "";
}

void NcclCommunicator::enqueue(const Call& call, cudaStream_t stream) {
  submit_messages();  // earlier messages come first
  const Buffer &send = call.send, &receive = call.receive;
  const auto sent = static_cast<std::size_t>(send.count);
  const auto received = static_cast<std::size_t>(receive.count);
  const ncclDataType_t type = to_library_type(receive.type);
  const ncclRedOp_t operation = find_operation(call.op);
  switch (call.what) {
    case Collective::allreduce:
      check(ncclAllReduce(send.data, receive.data, sent, type, operation, library_, stream),
            "ncclAllReduce", library_);
      break;
    case Collective::reduce:
      check(ncclReduce(send.data, receive.data, sent, type, operation, call.root, library_, stream),
            "ncclReduce", library_);
      break;
    case Collective::reduce_scatter:
      check(ncclReduceScatter(send.data, receive.data, received, type, operation, library_, stream),
            "ncclReduceScatter", library_);
      break;
    case Collective::allgather:
      check(ncclAllGather(send.data, receive.data, sent, type, library_, stream), "ncclAllGather",
            library_);
      break;
    case Collective::broadcast:
      check(ncclBroadcast(receive.data, receive.data, received, type, call.root, library_, stream),
            "ncclBroadcast", library_);
      break;
    case Collective::alltoall: {
      const std::int64_t part = send.count / size();
      if (ncclAlltoAll != nullptr) {
        check(ncclAlltoAll(send.data, receive.data, static_cast<std::size_t>(part), type, library_,
                           stream),
              "ncclAlltoAll", library_);
        break;
      }
      check(ncclGroupStart(), "ncclGroupStart", library_);
      for (int peer = 0; peer < size(); ++peer) {
        check(ncclSend(send.part(peer * part, part).data, static_cast<std::size_t>(part), type,
                       peer, library_, stream),
              "ncclSend", library_);
        check(ncclRecv(receive.part(peer * part, part).data, static_cast<std::size_t>(part), type,
                       peer, library_, stream),
              "ncclRecv", library_);
      }
      check(ncclGroupEnd(), "ncclGroupEnd", library_);
      break;
    }
    case Collective::barrier:
      break;
  }
}

void NcclCommunicator::describe(const Call& call, Execution& execution) const {
  execution.implementation = "NCCL " + version() + " " + std::string(name(call.what));
  if (call.what == Collective::alltoall && ncclAlltoAll == nullptr)
    execution.implementation += " of sends and receives";
  execution.evidence = "library";
}

void NcclCommunicator::run(const Call& call, Stream& stream) {
  if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
  enqueue(call, cuda::cuda_stream(stream));
}

Request NcclCommunicator::start(const Call& call, Stream& stream) {
  if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
  const std::uintptr_t mark = marks_.take();
  const cudaEvent_t event = marks_[mark].event;
  cuda::check(cudaEventRecord(event, cuda::cuda_stream(stream)), "recording an event");
  cuda::check(cudaStreamWaitEvent(beside_, event, 0), "ordering two streams");
  enqueue(call, beside_);
  cuda::check(cudaEventRecord(event, beside_), "recording an event");
  return {mark};
}

Request NcclCommunicator::add(Buffer data, int peer, bool sending, Stream& stream) {
  if (peer < 0 || peer >= size()) throw CaseError("no rank " + std::to_string(peer));
  waiting_.push_back({data, peer, sending, cuda::cuda_stream(stream), marks_.take()});
  return {waiting_.back().mark};
}

Request NcclCommunicator::send(Buffer data, int to, int, Stream& stream) {
  return add(data, to, true, stream);
}

Request NcclCommunicator::receive(Buffer data, int from, int, Stream& stream) {
  return add(data, from, false, stream);
}

void NcclCommunicator::submit_messages() {
  if (waiting_.empty()) return;
  check(ncclGroupStart(), "ncclGroupStart", library_);
  for (const Message& message : waiting_) {
    const auto count = static_cast<std::size_t>(message.data.count);
    const ncclDataType_t type = to_library_type(message.data.type);
    if (message.sending)
      check(ncclSend(message.data.data, count, type, message.peer, library_, message.stream),
            "ncclSend", library_);
    else
      check(ncclRecv(message.data.data, count, type, message.peer, library_, message.stream),
            "ncclRecv", library_);
  }
  check(ncclGroupEnd(), "ncclGroupEnd", library_);
  for (const Message& message : waiting_)
    cuda::check(cudaEventRecord(marks_[message.mark].event, message.stream), "recording an event");
  waiting_.clear();
}

/// Only this call reports a dead peer or a broken link: the kernels on the GPU would wait for ever.
void NcclCommunicator::check_async() {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(library_, &state), "ncclCommGetAsyncError", library_);
  if (state != ncclInProgress) check(state, "a transfer", library_);
}

bool NcclCommunicator::done(Request& request) {
  if (request.handle == 0) return true;
  submit_messages();
  const cudaError_t state = cudaEventQuery(marks_[request.handle].event);
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // clears it; else a later check of a launch would report it
    check_async();
    return false;
  }
  cuda::check(state, "a transfer");
  marks_.give_back(request.handle);
  request = {};
  return true;
}

void NcclCommunicator::wait(Request& request) {
  // Spins first: sleeping is too slow for an event that is almost complete.
  for (int spins = 0; !done(request); ++spins)
    if (spins > 1000) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

bool NcclCommunicator::order(const Request& request, Stream& stream) {
  if (request.handle == 0) return true;
  submit_messages();
  cuda::check(cudaStreamWaitEvent(cuda::cuda_stream(stream), marks_[request.handle].event, 0),
              "ordering two streams");
  return true;
}

}  // namespace assay::nccl
