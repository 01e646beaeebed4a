// Calls of more than 2^31 elements: libraries count in int.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "tests/transports/contract.hpp"

namespace assay::testing {

namespace {

constexpr std::int64_t limit = std::int64_t{1} << 31;

/// Element i of a rank: 0 to 7.
unsigned element(int rank, std::int64_t i) {
  return (static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(rank) * 97u) >>
         29;
}

/// The numbers 0, 1, 2 … as elements.
template <class Element>
std::vector<Element> encoded(DataType type, int numbers) {
  std::vector<double> values;
  for (int i = 0; i < numbers; ++i) values.push_back(i);
  std::vector<Element> result(values.size());
  encode(type, values, result.data());
  return result;
}

/// One call whose result has an element for each of `whole`, or of this rank's part of it.
template <class Element>
class LargeCall {
 public:
  LargeCall(Communicator& ranks, Collective what, DataType type)
      : ranks_(ranks), what_(what), type_(type), part_(limit / ranks.size() + 16) {}

  std::int64_t whole() const { return part_ * ranks_.size(); }
  std::int64_t sent() const {
    if (what_ == Collective::broadcast || what_ == Collective::allreduce) return 0;
    return what_ == Collective::allgather ? part_ : whole();
  }
  std::int64_t received() const { return what_ == Collective::reduce_scatter ? part_ : whole(); }
  double bytes() const { return static_cast<double>(sent() + received()) * sizeof(Element); }

  /// Over the buffers, or over places that have no memory yet.
  Call call(void* send, void* receive) const {
    Call made{what_, {send, sent(), type_}, {receive, received(), type_}, ReduceOp::sum, 0};
    if (what_ == Collective::allreduce) made.send = made.receive;
    return made;
  }

  /// The number of elements that are wrong.
  std::int64_t run(Stream& stream) {
    const int me = ranks_.rank(), n = ranks_.size();
    const std::vector<Element> as = encoded<Element>(type_, 7 * n + 1);
    std::vector<Element> send(static_cast<std::size_t>(sent())),
        receive(static_cast<std::size_t>(received()));
    std::vector<Element>& input = sent() > 0 ? send : receive;
    if (what_ != Collective::broadcast || me == 0)
      for (std::size_t i = 0; i < input.size(); ++i)
        input[i] = as[element(me, static_cast<std::int64_t>(i))];
    const Call made = call(send.data(), receive.data());
    ranks_.prepare(made);
    ranks_.run(made, stream);
    stream.wait();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < received(); ++i)
      wrong += receive[static_cast<std::size_t>(i)] != as[expected(i)];
    return wrong;
  }

 private:
  unsigned expected(std::int64_t i) const {
    const int me = ranks_.rank();
    if (what_ == Collective::broadcast) return element(0, i);
    if (what_ == Collective::allgather) return element(static_cast<int>(i / part_), i % part_);
    if (what_ == Collective::alltoall)
      return element(static_cast<int>(i / part_), me * part_ + i % part_);
    unsigned sum = 0;
    for (int rank = 0; rank < ranks_.size(); ++rank)
      sum += element(rank, (what_ == Collective::reduce_scatter ? me * part_ : 0) + i);
    return sum;
  }

  Communicator& ranks_;
  Collective what_;
  DataType type_;
  std::int64_t part_;
};

}  // namespace

bool Contract::enough_memory(double bytes, const std::string& title) {
  // All ranks of the contract share one host, or have one each: the worse is assumed.
  const double need = memory_factor_ * bytes * ranks_.size();
  const bool enough = static_cast<double>(HostDevice().memory_available()) > need;
  const std::vector<std::string> all = ranks_.allgather(enough ? "" : "no");
  if (std::all_of(all.begin(), all.end(), [](const std::string& no) { return no.empty(); }))
    return true;
  not_tried_.insert(
      fmt::format("{}: {:.0f} GiB of memory would be needed", title, need / (1 << 30)));
  return false;
}

template <class Element>
void Contract::large_call(Collective what, DataType type) {
  LargeCall<Element> call(ranks_, what, type);
  const std::string title =
      fmt::format("{} {} of {} elements", name(what), name(type), call.whole());
  if (ranks_.rank() == 0) std::cerr << title << std::endl;
  Element somewhere[2] = {};
  const std::string refusal = ranks_.why_not(call.call(&somewhere[0], &somewhere[1]));
  ++calls_;
  if (!refusal.empty()) {
    refused_.insert(refusal);
    return;
  }
  if (!enough_memory(call.bytes(), title)) return;
  std::int64_t wrong = 0;
  try {
    wrong = call.run(stream_);
  } catch (const CaseError& error) {
    expect(false, title + ": " + error.what());
  }
  expect(wrong == 0, fmt::format("{}: {} elements are wrong", title, wrong));
}

void Contract::large_message() {
  constexpr std::int64_t count = limit + 16;
  const int last = ranks_.size() - 1;
  if (last == 0 || !enough_memory(static_cast<double>(count), "a message")) return;
  if (ranks_.rank() == 0) std::cerr << "a message of " << count << " elements" << std::endl;
  ++calls_;
  if (ranks_.rank() != 0 && ranks_.rank() != last) return;
  std::vector<std::uint8_t> memory(count);
  const Buffer all{memory.data(), count, DataType::u8};
  if (ranks_.rank() == 0)
    for (std::int64_t i = 0; i < count; ++i)
      memory[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(element(0, i));
  Request request =
      ranks_.rank() == 0 ? ranks_.send(all, last, 0, stream_) : ranks_.receive(all, 0, 0, stream_);
  ranks_.wait(request);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i)
    wrong += memory[static_cast<std::size_t>(i)] != element(0, i);
  expect(wrong == 0, fmt::format("a message of {} elements: {} are wrong", count, wrong));
}

void Contract::large(double memory_factor) {
  memory_factor_ = memory_factor;
  for (const Collective what : {Collective::broadcast, Collective::allgather, Collective::alltoall})
    large_call<std::uint8_t>(what, DataType::u8);
  for (const Collective what : {Collective::allreduce, Collective::reduce_scatter})
    large_call<std::uint16_t>(what, DataType::fp16);
  large_message();
}

}  // namespace assay::testing
