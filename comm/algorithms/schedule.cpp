#include "comm/algorithms/schedule.hpp"

#include <utility>

namespace assay {

bool in_place(const Call& call, int rank) {
  if (call.send.data == nullptr || call.receive.data == nullptr) return false;
  if (call.what == Collective::reduce_scatter)
    return call.receive.data == call.send.part(rank * call.receive.count, 0).data;
  if (call.what == Collective::allgather)
    return call.send.data == call.receive.part(rank * call.send.count, 0).data;
  return call.send.data == call.receive.data;
}

ScheduleBuilder::ScheduleBuilder(const Call& call, int rank, int size)
    : rank_(rank),
      size_(size),
      whole_send_{Part::Memory::send, 0, call.send.count},
      whole_receive_{Part::Memory::receive, 0, call.receive.count},
      segment_(segment_bytes / static_cast<std::int64_t>(size_of(call.receive.type))),
      in_place_(assay::in_place(call, rank)) {
  if (call.what == Collective::reduce_scatter) {
    offset_ = rank * call.receive.count;
  } else if (call.what == Collective::allgather) {
    inner_ = Part::Memory::send;
    offset_ = rank * call.send.count;
  }
}

Part ScheduleBuilder::scratch(std::int64_t count) {
  const Part part{Part::Memory::scratch, schedule_.scratch, count};
  schedule_.scratch += count;
  return part;
}

Part ScheduleBuilder::canonical(Part part) const {
  if (!in_place_ || part.in != inner_) return part;
  return {inner_ == Part::Memory::receive ? Part::Memory::send : Part::Memory::receive,
          part.first + offset_, part.count};
}

bool ScheduleBuilder::overlap(Part x, Part y) const {
  const Part a = canonical(x), b = canonical(y);
  return a.in == b.in && a.first < b.first + b.count && b.first < a.first + a.count;
}

int ScheduleBuilder::request() {
  if (free_requests_.empty()) return schedule_.requests++;
  const int place = free_requests_.back();
  free_requests_.pop_back();
  return place;
}

template <class Which>
void ScheduleBuilder::wait_for(Which which) {
  std::erase_if(in_flight_, [&](const InFlight& transfer) {
    if (!which(transfer)) return false;
    schedule_.steps.push_back({Step::Action::wait, {}, {}, {}, 0, transfer.request});
    free_requests_.push_back(transfer.request);
    return true;
  });
}

void ScheduleBuilder::before_write(Part part) {
  wait_for([&](const InFlight& transfer) { return overlap(transfer.part, part); });
}

void ScheduleBuilder::before_read(Part part) {
  wait_for(
      [&](const InFlight& transfer) { return transfer.receiving && overlap(transfer.part, part); });
}

void ScheduleBuilder::send(int peer, Part from) {
  if (from.count == 0) return;
  before_read(from);
  in_flight_.push_back({from, request(), false});
  schedule_.steps.push_back({Step::Action::send, {}, from, {}, peer, in_flight_.back().request});
}

void ScheduleBuilder::receive(int peer, Part into) {
  if (into.count == 0) return;
  before_write(into);
  in_flight_.push_back({into, request(), true});
  schedule_.steps.push_back({Step::Action::receive, into, {}, {}, peer, in_flight_.back().request});
}

void ScheduleBuilder::copy(Part into, Part from) {
  if (into.count == 0) return;
  const Part x = canonical(into), y = canonical(from);
  if (x.in == y.in && x.first == y.first) return;
  before_read(from);
  before_write(into);
  schedule_.steps.push_back({Step::Action::copy, into, from, {}});
}

void ScheduleBuilder::combine(Part into, Part a, Part b) {
  if (into.count == 0) return;
  before_read(a);
  before_read(b);
  before_write(into);
  schedule_.steps.push_back({Step::Action::combine, into, a, b});
}

void ScheduleBuilder::scale(Part sum) {
  if (sum.count == 0) return;
  before_write(sum);
  schedule_.steps.push_back({Step::Action::scale, sum, {}, {}});
}

Schedule ScheduleBuilder::finish() {
  wait_for([](const InFlight&) { return true; });
  return std::move(schedule_);
}

}  // namespace assay
