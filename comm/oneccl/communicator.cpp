#include "comm/oneccl/communicator.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "comm/reduce.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay::oneccl {

namespace {

ccl::datatype to_library_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return ccl::datatype::float64;
    case DataType::bf16:
      return ccl::datatype::bfloat16;
    case DataType::fp16:
      return ccl::datatype::float16;
    case DataType::s32:
      return ccl::datatype::int32;
    case DataType::s8:
      return ccl::datatype::int8;
    case DataType::u8:
    case DataType::fp8_e4m3:  // moved, never reduced (why_not_reduce)
    case DataType::fp8_e5m2:
      return ccl::datatype::uint8;
    default:
      return ccl::datatype::float32;
  }
}

ccl::reduction find_operation(ReduceOp op) {
  if (op == ReduceOp::max) return ccl::reduction::max;
  if (op == ReduceOp::min) return ccl::reduction::min;
  return ccl::reduction::sum;
}

/// The library implements 16-bit types only with vector instructions, and fails without them.
bool processor_can_add(DataType type) {
#if defined(__x86_64__)
  if (type == DataType::bf16) return __builtin_cpu_supports("avx512f") != 0;
  if (type == DataType::fp16) {  // clang 14's builtin does not know f16c
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
    return f16c && __builtin_cpu_supports("avx") != 0;
  }
#endif
  return true;
}

/// The setting for how the library's threads wait; empty: the library's default.
std::string yield() {
  const char* value = std::getenv("CCL_YIELD");
  return value == nullptr ? "" : value;
}

ccl::shared_ptr_class<ccl::kvs> store_for(Communicator& known) {
  std::string failure, address;
  ccl::shared_ptr_class<ccl::kvs> store;
  if (known.rank() == 0) {
    try {
      store = ccl::create_main_kvs();
      const ccl::kvs::address_type bytes = store->get_address();
      address = hex(bytes);
    } catch (const ccl::exception& error) {
      failure = words(error);
    }
  }
  failure = known.allgather(failure)[0];
  address = known.allgather(address)[0];
  if (!failure.empty()) throw CaseError(failure);
  if (known.rank() == 0) return store;
  const std::vector<char> bytes = unhex(address);
  ccl::kvs::address_type copy{};
  std::memcpy(copy.data(), bytes.data(), std::min(bytes.size(), copy.size()));
  return ccl::create_kvs(copy);
}

}  // namespace

std::string words(const ccl::exception& error) {
  const std::string text = error.what();
  return text.starts_with("oneCCL") ? text : "oneCCL: " + text;
}

std::string version() {
  const ccl::library_version version = ccl::get_library_version();
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.update);
}

OneCclCommunicator::OneCclCommunicator(Ranks ranks)
    : KnownRanks(std::move(ranks)), sleeps_(yield() == "sleep") {
  lines_.resize(2 * static_cast<std::size_t>(size()));
  Communicator& known = *this->ranks().known;
  try {
    store_ = store_for(known);
    library_ = std::make_unique<ccl::communicator>(
        ccl::create_communicator(known.size(), known.rank(), store_));
  } catch (const ccl::exception& error) {
    throw CaseError(words(error));
  }
}

std::unique_ptr<Communicator> OneCclCommunicator::split(int color, int key) {
  return std::make_unique<OneCclCommunicator>(select_part(ranks(), color, key));
}

std::string OneCclCommunicator::why_not(const Call& call) const {
  if (std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
  if (!combines(call.what)) return "";
  if (std::string reason = why_not_reduce(call.receive.type, call.op); !reason.empty())
    return reason;
  if (!processor_can_add(call.receive.type))
    return "oneccl adds " + std::string(name(call.receive.type)) + " with " +
           (call.receive.type == DataType::bf16 ? "avx512f" : "f16c or avx512f") +
           " instructions only, which this processor does not have";
  return "";
}

ccl::event OneCclCommunicator::enqueue(const Call& call) {
  const Buffer &send = call.send, &receive = call.receive;
  const auto sent = static_cast<std::size_t>(send.count);
  const auto received = static_cast<std::size_t>(receive.count);
  const ccl::datatype type = to_library_type(receive.type);
  const ccl::reduction operation = find_operation(call.op);
  switch (call.what) {
    case Collective::allreduce:
      return ccl::allreduce(send.data, receive.data, sent, type, operation, *library_);
    case Collective::reduce:
      return ccl::reduce(send.data, receive.data, sent, type, operation, call.root, *library_);
    case Collective::reduce_scatter:
      return ccl::reduce_scatter(send.data, receive.data, received, type, operation, *library_);
    case Collective::allgather:
      return ccl::allgather(send.data, receive.data, sent, type, *library_);
    case Collective::broadcast:
      return ccl::broadcast(receive.data, received, type, call.root, *library_);
    case Collective::alltoall:
      return ccl::alltoall(send.data, receive.data, sent / static_cast<std::size_t>(size()), type,
                           *library_);
    case Collective::barrier:
      return ccl::barrier(*library_);
  }
  return {};
}

Request OneCclCommunicator::start(const Call& call, Stream&) {
  if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
  if (call.receive.count == 0 && call.what != Collective::barrier) return {};
  try {
    Request request = remember(enqueue(call));
    if (combines(call.what) && call.op == ReduceOp::average &&
        (call.what != Collective::reduce || rank() == call.root))
      transfers_[request.handle].average = call.receive;
    return request;
  } catch (const ccl::exception& error) {
    throw CaseError(words(error));
  }
}

void OneCclCommunicator::run(const Call& call, Stream& stream) {
  Request request = start(call, stream);
  if (request.handle == 0) return;
  // Blocks in the library only if no message is under way: the other ranks may need it before this
  // call.
  Transfer& transfer = transfers_[request.handle];
  try {
    if (std::all_of(lines_.begin(), lines_.end(), [](const auto& line) { return line.empty(); }))
      transfer.event.wait();
  } catch (const ccl::exception& error) {
    throw CaseError(words(error));
  }
  wait(request);
}

Request OneCclCommunicator::remember(ccl::event event) {
  const std::uintptr_t slot = transfers_.take();
  transfers_[slot].event = std::move(event);
  transfers_[slot].average = {};
  transfers_[slot].message = {};
  transfers_[slot].state = Transfer::State::under_way;
  return {slot};
}

void OneCclCommunicator::check_peer(int peer) const {
  if (peer == rank()) throw CaseError("oneccl cannot send a message to the same rank");
  if (peer < 0 || peer >= size()) throw CaseError("no rank " + std::to_string(peer));
}

Request OneCclCommunicator::send(Buffer data, int to, int, Stream&) {
  return queue(data, to, true);
}

Request OneCclCommunicator::receive(Buffer data, int from, int, Stream&) {
  return queue(data, from, false);
}

Request OneCclCommunicator::queue(Buffer data, int peer, bool sending) {
  check_peer(peer);
  if (data.count == 0) return {};  // the library does not send empty messages, but waits for them
  const std::uintptr_t slot = transfers_.take();
  Transfer& transfer = transfers_[slot];
  transfer.average = {};
  transfer.message = data;
  transfer.line = static_cast<std::size_t>(sending ? peer : size() + peer);
  transfer.state = Transfer::State::waits;
  lines_[transfer.line].push_back(slot);
  if (lines_[transfer.line].front() == slot) begin(transfer);
  return {slot};
}

void OneCclCommunicator::begin(Transfer& transfer) {
  const auto count = static_cast<std::size_t>(transfer.message.count);
  const ccl::datatype type = to_library_type(transfer.message.type);
  const bool sending = transfer.line < static_cast<std::size_t>(size());
  const int peer = static_cast<int>(transfer.line) - (sending ? 0 : size());
  try {
    transfer.event = sending ? ccl::send(transfer.message.data, count, type, peer, *library_)
                             : ccl::recv(transfer.message.data, count, type, peer, *library_);
  } catch (const ccl::exception& error) {
    throw CaseError(words(error));
  }
  transfer.state = Transfer::State::under_way;
}

bool OneCclCommunicator::poll_end(Transfer& transfer) {
  if (transfer.state == Transfer::State::ended) return true;
  try {
    if (transfer.state == Transfer::State::waits || !transfer.event.test()) return false;
  } catch (const ccl::exception& error) {
    throw CaseError(words(error));
  }
  transfer.state = Transfer::State::ended;
  if (transfer.message.count > 0) {
    std::vector<std::uintptr_t>& line = lines_[transfer.line];
    line.erase(line.begin());
    if (!line.empty()) begin(transfers_[line.front()]);
  }
  if (transfer.average.count > 0) scale(transfer.average, size());
  return true;
}

/// Advances all requests, because the peer may wait for a different one.
void OneCclCommunicator::progress() {
  for (const std::vector<std::uintptr_t>& line : lines_)
    if (!line.empty()) poll_end(transfers_[line.front()]);
}

void OneCclCommunicator::wait(Request& request) {
  while (!done(request)) {
    if (sleeps_)
      std::this_thread::sleep_for(std::chrono::nanoseconds(1));  // as the library does
    else
      std::this_thread::yield();
  }
}

bool OneCclCommunicator::done(Request& request) {
  if (request.handle == 0) return true;
  progress();
  if (!poll_end(transfers_[request.handle])) return false;
  transfers_.give_back(request.handle);
  request = {};
  return true;
}

void OneCclCommunicator::describe(const Call& call, Execution& execution) const {
  execution.implementation = "oneCCL " + version() + " " + std::string(name(call.what));
  if (combines(call.what) && call.op == ReduceOp::average)
    execution.implementation += ", then a division";
  execution.evidence = "library";
}

std::string OneCclCommunicator::tuning_settings() const {
  const std::string how = yield();
  return how.empty() ? "" : "CCL_YIELD=" + how;
}

}  // namespace assay::oneccl
