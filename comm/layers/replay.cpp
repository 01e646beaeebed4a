#include "comm/layers/replay.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Replay::Replay(Communicator& under, ReplaySettings settings)
    : ForwardingCommunicator(under), settings_(std::move(settings)) {
  for (const std::int64_t count : settings_.counts) total_ += count;
  requests_.resize(settings_.counts.size());
}

template <class Body>
void Replay::each(const Call& call, Body body) const {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < settings_.counts.size(); ++i) {
    const std::int64_t count = settings_.counts[i];
    body(i, Call{call.what, call.send.part(first, count), call.receive.part(first, count), call.op,
                 call.root});
    first += count;
  }
}

std::string Replay::why_not(const Call& call) const {
  if (call.what != Collective::allreduce)
    return "a replay has no " + std::string(name(call.what)) + " (its tensors are allreduced)";
  if (call.send.count != total_)
    return "the tensors of the replay have " + std::to_string(total_) + " elements, the call " +
           std::to_string(call.send.count);
  std::string reason = why_not_counts(call, size());
  each(call, [&](std::size_t, const Call& tensor) {
    if (reason.empty()) reason = under().why_not(tensor);
  });
  return reason;
}

void Replay::prepare(const Call& call) {
  each(call, [&](std::size_t, const Call& tensor) { under().prepare(tensor); });
}

void Replay::describe(const Call& call, Executed& executed) const {
  under().describe(call, executed);
  executed.numbers["tensors"] = static_cast<double>(settings_.counts.size());
  executed.numbers["compute_s"] = settings_.compute_seconds;
  if (settings_.polled) executed.implementation += ", polled meanwhile";
}

void Replay::run(const Call& call, Stream& stream) {
  if (call.what != Collective::allreduce || call.send.count != total_)
    throw CaseError(why_not(call));
  const Clock::time_point start = Clock::now();
  const double interval =
      settings_.compute_seconds / static_cast<double>(std::max<std::size_t>(1, requests_.size()));
  const bool started = settings_.started || settings_.compute_seconds > 0;
  each(call, [&](std::size_t i, const Call& tensor) {
    while (seconds_since(start) < interval * static_cast<double>(i + 1)) {
      if (!settings_.polled) continue;
      for (Request& earlier : std::span(requests_).first(i)) under().done(earlier);
    }
    if (started)
      requests_[i] = under().start(tensor, stream);
    else
      under().run(tensor, stream);
  });
  for (Request& request : requests_) under().wait(request);
}

Request Replay::start(const Call& call, Stream& stream) {
  run(call, stream);
  return {};
}

}  // namespace assay
