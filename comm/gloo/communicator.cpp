#include "comm/gloo/communicator.hpp"

#include <algorithm>  // gloo/math.h uses it

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/types.h>

#include "comm/reduce.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay::gloo_transport {

namespace {

/// Calls `use` with a null pointer to the element type, the template argument of gloo's functions.
template <class Use>
auto with_type(DataType type, const Use& use) {
  switch (type) {
    case DataType::fp64:
      return use(static_cast<double*>(nullptr));
    case DataType::fp16:
      return use(static_cast<gloo::float16*>(nullptr));
    case DataType::s32:
      return use(static_cast<std::int32_t*>(nullptr));
    case DataType::s8:
      return use(static_cast<std::int8_t*>(nullptr));
    case DataType::u8:
    case DataType::fp8_e4m3:  // moved, never reduced (why_not_reduce)
    case DataType::fp8_e5m2:
      return use(static_cast<std::uint8_t*>(nullptr));
    default:
      return use(static_cast<float*>(nullptr));
  }
}

using Function = void (*)(void*, const void*, const void*, std::size_t);

Function find_function(DataType type, ReduceOp op) {
  return with_type(type, [op]<class T>(T*) -> Function {
    if (op == ReduceOp::max) return &gloo::max<T>;
    if (op == ReduceOp::min) return &gloo::min<T>;
    return &gloo::sum<T>;
  });
}

template <class Options>
void set_buffers(Options& options, const Call& call, void* out) {
  const auto elements = static_cast<std::size_t>(call.receive.count);
  with_type(call.receive.type, [&]<class T>(T*) {
    // Without an input, gloo uses the output as the input: in place.
    if (call.send.data != out) options.setInput(static_cast<T*>(call.send.data), elements);
    options.setOutput(static_cast<T*>(out), elements);
  });
}

CaseError make_case_error(const std::exception& error) {
  return CaseError(std::string("gloo: ") + error.what());
}

}  // namespace

std::string version() {
  return std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
         std::to_string(GLOO_VERSION_PATCH);
}

GlooCommunicator::GlooCommunicator(Ranks ranks, std::string interface)
    : KnownRanks(std::move(ranks)),
      interface_(std::move(interface)),
      mesh_(std::make_shared<Mesh>(*this->ranks().known, interface_)) {}

std::unique_ptr<Communicator> GlooCommunicator::split(int color, int key) {
  return std::make_unique<GlooCommunicator>(select_part(ranks(), color, key), interface_);
}

std::string GlooCommunicator::why_not(const Call& call) const {
  if (std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
  if (combines(call.what)) {
    if (std::string reason = why_not_reduce(call.receive.type, call.op); !reason.empty())
      return reason;
    if (call.receive.type == DataType::bf16) return "gloo has no arithmetic for bf16";
  }
  if (call.what == Collective::alltoall && call.send.count > 0 &&
      call.send.data == call.receive.data)
    return "gloo has no alltoall in place";
  return "";
}

void GlooCommunicator::prepare(const Call& call) {
  if (!why_not(call).empty() || call.receive.count == 0) return;
  if (call.what == Collective::reduce && rank() != call.root)
    ignored_.resize(std::max(ignored_.size(), call.send.bytes()));
  if (call.what == Collective::reduce_scatter)
    ignored_.resize(std::max(ignored_.size(), call.receive.bytes()));
}

std::size_t GlooCommunicator::scratch_bytes() const { return ignored_.size(); }

template <class Options, class Collective>
void GlooCommunicator::finish(Options& options, const Collective& collective) {
  options.setTag(calls_++);
  options.setTimeout(no_timeout);
  collective(options);
}

/// Gloo writes partial sums into the output of every rank. Ranks other than the root give it a
/// buffer that is ignored.
void GlooCommunicator::reduce(const Call& call) {
  if (rank() != call.root) prepare(call);
  gloo::ReduceOptions options(mesh_);
  set_buffers(options, call, rank() == call.root ? call.receive.data : ignored_.data());
  options.setReduceFunction(find_function(call.send.type, call.op));
  options.setRoot(call.root);
  finish(options, [](gloo::ReduceOptions& it) { gloo::reduce(it); });
}

/// One reduce for each part, to the rank of that part. Gloo's ReduceScatterHalvingDoubling (0.5.0)
/// is not used: it copies its result over data that its thread may still be sending, and long
/// results were wrong.
void GlooCommunicator::reduce_scatter(const Call& call) {
  const std::int64_t part = call.receive.count;
  for (int root = 0; root < size(); ++root)
    reduce({Collective::reduce, call.send.part(root * part, part), call.receive, call.op, root});
}

void GlooCommunicator::call_library(const Call& call) {
  const Buffer &send = call.send, &receive = call.receive;
  switch (call.what) {
    case Collective::allreduce: {
      gloo::AllreduceOptions options(mesh_);
      set_buffers(options, call, receive.data);
      options.setReduceFunction(find_function(receive.type, call.op));
      finish(options, [](gloo::AllreduceOptions& it) { gloo::allreduce(it); });
      break;
    }
    case Collective::reduce:
      reduce(call);
      break;
    case Collective::reduce_scatter:
      reduce_scatter(call);
      break;
    case Collective::allgather: {
      gloo::AllgatherOptions options(mesh_);
      char* own =
          static_cast<char*>(receive.data) + static_cast<std::size_t>(rank()) * send.bytes();
      if (send.data != own) options.setInput(static_cast<char*>(send.data), send.bytes());
      options.setOutput(static_cast<char*>(receive.data), receive.bytes());
      finish(options, [](gloo::AllgatherOptions& it) { gloo::allgather(it); });
      break;
    }
    case Collective::broadcast: {
      gloo::BroadcastOptions options(mesh_);
      options.setOutput(static_cast<char*>(receive.data), receive.bytes());
      options.setRoot(call.root);
      finish(options, [](gloo::BroadcastOptions& it) { gloo::broadcast(it); });
      break;
    }
    case Collective::alltoall: {
      gloo::AlltoallOptions options(mesh_);
      options.setInput(static_cast<char*>(send.data), send.bytes());
      options.setOutput(static_cast<char*>(receive.data), receive.bytes());
      finish(options, [](gloo::AlltoallOptions& it) { gloo::alltoall(it); });
      break;
    }
    case Collective::barrier: {
      gloo::BarrierOptions options(mesh_);
      finish(options, [](gloo::BarrierOptions& it) { gloo::barrier(it); });
      break;
    }
  }
}

void GlooCommunicator::run(const Call& call, Stream&) {
  if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
  const Buffer& receive = call.receive;
  if (receive.count == 0 && call.what != Collective::barrier) return;  // gloo refuses empty calls
  try {
    call_library(call);
  } catch (const CaseError&) {
    throw;
  } catch (const std::exception& error) {
    throw make_case_error(error);
  }
  if (combines(call.what) && call.op == ReduceOp::average &&
      (call.what != Collective::reduce || rank() == call.root))
    scale(receive, size());
}

void GlooCommunicator::describe(const Call& call, Execution& execution) const {
  execution.implementation =
      "Gloo " + version() + " " +
      (call.what == Collective::reduce_scatter ? "reduce to each rank in turn"
                                               : std::string(name(call.what))) +
      " over TCP on " + interface_;
  if (combines(call.what) && call.op == ReduceOp::average)
    execution.implementation += ", then a division";
  execution.evidence = "library";
}

std::string GlooCommunicator::tuning_settings() const {
  return mesh_->gives_way() ? "Gloo's thread under SCHED_BATCH" : "";
}

Request GlooCommunicator::start(const Call& call, Stream& stream) {
  run(call, stream);
  return {};
}

void GlooCommunicator::check_peer(int peer) const {
  if (peer == rank()) throw CaseError("gloo cannot send a message to the same rank");
  if (peer < 0 || peer >= size()) throw CaseError("no rank " + std::to_string(peer));
}

/// The message of a slot. It is recreated only if the buffer is not the slot's last buffer.
GlooCommunicator::Message& GlooCommunicator::message(std::uintptr_t slot, Buffer data,
                                                     bool sending) {
  Transfer& transfer = transfers_[slot];
  transfer.sending = sending;
  if (!transfer.message || transfer.message->ptr != data.data ||
      transfer.message->size != data.bytes())
    transfer.message = mesh_->createUnboundBuffer(data.data, data.bytes());
  return *transfer.message;
}

Request GlooCommunicator::send(Buffer data, int to, int tag, Stream&) {
  check_peer(to);
  const std::uintptr_t slot = transfers_.take();
  try {
    message(slot, data, true).send(to, static_cast<std::uint64_t>(tag));
  } catch (const std::exception& error) {
    throw make_case_error(error);
  }
  return {slot};
}

Request GlooCommunicator::receive(Buffer data, int from, int tag, Stream&) {
  check_peer(from);
  const std::uintptr_t slot = transfers_.take();
  try {
    message(slot, data, false).recv(from, static_cast<std::uint64_t>(tag));
  } catch (const std::exception& error) {
    throw make_case_error(error);
  }
  return {slot};
}

void GlooCommunicator::Transfer::wait() {
  if (sending)
    message->waitSend(no_timeout);
  else
    message->waitRecv(no_timeout);
}

void GlooCommunicator::wait(Request& request) {
  if (request.handle == 0) return;
  Transfer& transfer = transfers_[request.handle];
  try {
    if (transfer.waiting.valid())
      transfer.waiting.get();
    else
      transfer.wait();
  } catch (const std::exception& error) {
    throw make_case_error(error);
  }
  transfers_.give_back(request.handle);
  request = {};
}

bool GlooCommunicator::done(Request& request) {
  if (request.handle == 0) return true;
  Transfer& transfer = transfers_[request.handle];
  if (!transfer.waiting.valid())
    transfer.waiting = std::async(std::launch::async, [&transfer] { transfer.wait(); });
  if (transfer.waiting.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  wait(request);
  return true;
}

}  // namespace assay::gloo_transport
