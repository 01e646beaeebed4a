#include "models/network/gradient_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include "comm/stream_order.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_of_bucket = 64;
constexpr int significand_of_fp16 = 11;
constexpr int control_tag = 1;  // algorithms use larger ones

}  // namespace

GradientExchange::GradientExchange(Executor& executor, Communicator& ranks, Communicator& adding,
                                   std::size_t bucket_bytes, bool staged,
                                   std::optional<int> control)
    : executor_(executor), ranks_(ranks), adding_(adding), staged_(staged) {
  plan_buckets(bucket_bytes);
  now_.requests.resize(buckets_.size());
  before_.requests.resize(buckets_.size());
  if (!control) return;
  control_ =
      std::make_unique<Control>(ranks_, *control, static_cast<int>(buckets_.size()), control_tag);
  control_messages_ = busiest_messages(ranks_.size(), *control) * std::ssize(buckets_);
}

GradientExchange::~GradientExchange() {
  if (std::uncaught_exceptions() > 0) return;
  try {
    finish();
  } catch (...) {  // the transport has failed, and moves nothing any more
  }
}

void GradientExchange::plan_buckets(std::size_t bucket_bytes) {
  const Graph& all = executor_.graph();
  std::map<ValueIndex, std::size_t> made_by;
  std::size_t added = 0;  // with accumulation: the node after which all gradients are complete
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    if (all.nodes[i].phase == Phase::accumulate) added = i;
    for (const auto& [name, value] : all.nodes[i].tensors)
      if (all.values[value].storage == Storage::part &&
          all.values[value].whole == all.batch_gradients)
        made_by[value] = i;
  }
  const auto least =
      static_cast<std::int64_t>(bucket_bytes / size_of(all.value(all.gradients).type));
  Bucket bucket;
  bucket.ready = added;
  for (std::size_t i = all.parameters.size(); i-- > 0;) {
    bucket.ready = std::max(bucket.ready, made_by.at(all.parameters[i].gradient));
    const std::int64_t end = i == 0 ? all.elements(all.gradients) : all.parameters[i - 1].offset;
    bucket.count = end - bucket.first;
    if (bucket.count < least && i > 0) continue;
    buckets_.push_back(bucket);
    bucket = {end, 0, bucket.ready};
  }
}

Call GradientExchange::make_call(const Bucket& bucket, ValueIndex in) const {
  const Graph& graph = executor_.graph();
  const Buffer all{executor_.memory(in).get(), graph.elements(in), graph.value(in).type};
  const Buffer part = all.part(bucket.first, bucket.count);
  return {Collective::allreduce, part, part, ReduceOp::sum, 0};
}

void GradientExchange::prepare() {
  if (ranks_.size() == 1) return;
  for (const ValueIndex in : {executor_.graph().gradients, executor_.graph().lagged}) {
    if (in == Graph::none) continue;
    for (const Bucket& bucket : buckets_) {
      const Call call = make_call(bucket, in);
      if (const std::string why = adding_.why_not(call); !why.empty())
        throw CaseError("the ranks cannot add gradients: " + why);
      adding_.prepare(call);
    }
  }
}

Execution GradientExchange::execution() const {
  Execution execution;
  if (ranks_.size() > 1)
    adding_.describe(make_call(buckets_.front(), executor_.graph().gradients), execution);
  return execution;
}

void GradientExchange::begin(std::optional<std::uint64_t> seed) {
  ++steps_;
  seed_ = lags() && !seed ? steps_ : seed;
  now_.own.at.clear();
  now_.own.values.clear();
  if (control_) control_->begin();
}

void GradientExchange::keep(const Bucket& bucket) {
  std::mt19937_64 random(*seed_ + static_cast<std::uint64_t>(bucket.first));
  const Call call = make_call(bucket, executor_.graph().gradients);
  const std::size_t size = size_of(call.send.type);
  Device& device = executor_.device();
  bytes_.resize(kept_of_bucket * size);
  for (std::size_t i = 0; i < kept_of_bucket; ++i) {
    const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bucket.count));
    now_.own.at.push_back(bucket.first + at);
    device.copy(bytes_.data() + i * size, call.send.part(at, 1).data, size);
  }
  device.stream().wait();
  now_.own.values.resize(now_.own.at.size());
  decode(call.send.type, bytes_.data(), std::span(now_.own.values).last(kept_of_bucket));
}

void GradientExchange::start(std::size_t bucket) {
  if (ranks_.size() == 1) return;
  Stream& stream = executor_.device().stream();
  if (staged_) stream.wait();  // so that the time of earlier computation is not counted
  const auto begun = Clock::now();
  now_.requests[bucket] =
      adding_.start(make_call(buckets_[bucket], executor_.graph().gradients), stream);
  if (staged_) stream.wait();  // for the copy of the sum
  seconds_ += seconds_since(begun);
}

void GradientExchange::start_decided() {
  if (!control_) return;
  const auto begun = Clock::now();
  int bucket = control_->next();
  seconds_ += seconds_since(begun);
  for (; bucket >= 0; bucket = control_->next()) start(static_cast<std::size_t>(bucket));
}

void GradientExchange::start_ready(std::size_t node) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i].ready != node) continue;
    if (seed_) keep(buckets_[i]);
    if (control_)
      control_->ready(static_cast<int>(i));
    else
      start(i);
  }
  start_decided();
}

/// Most transports make progress only within their calls. A question about one sum advances all.
void GradientExchange::make_progress() {
  if (ranks_.size() == 1 || !lags()) return;
  const auto waiting = std::find_if(before_.requests.begin(), before_.requests.end(),
                                    [](const Request& request) { return request.handle != 0; });
  if (waiting == before_.requests.end()) return;
  const auto start = Clock::now();
  adding_.done(*waiting);
  seconds_ += seconds_since(start);
}

void GradientExchange::wait_for(Sums& sums) {
  if (ranks_.size() == 1) return;
  for (Request& request : sums.requests) adding_.wait(request);
}

void GradientExchange::wait() {
  while (control_ && control_->order().size() < buckets_.size()) start_decided();
  wait_for(read_by_update());
}

void GradientExchange::order() {
  if (ranks_.size() == 1) return;
  for (const Request& request : now_.requests)
    if (!assay::order(adding_, request, executor_.device().stream()))
      throw std::logic_error("no stream can wait for the sums of the gradients");
}

std::string GradientExchange::why_waits() const {
  if (ranks_.size() == 1) return "";
  if (staged_) return "the gradients are added in memory of the host";
  if (control_) return "the ranks agree by the host's messages which gradients they add next";
  return assay::order(adding_, {}, executor_.device().stream())
             ? ""
             : "the host waits for the sum of the gradients";
}

void GradientExchange::finish() {
  wait_for(before_);
  wait_for(now_);
}

void GradientExchange::end() {
  if (!lags()) return;
  std::swap(now_, before_);
  executor_.swap_gradients();
}

double GradientExchange::take_seconds() { return std::exchange(seconds_, 0); }

/// Reads the tensor that the update operation is bound to, not the one that the graph names.
std::vector<double> GradientExchange::gradients_of_update() const {
  const std::vector<GraphNode>& nodes = executor_.graph().nodes;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].phase != Phase::update) continue;
    for (Tensor* const tensor : executor_.arguments(i)) {
      if (tensor->spec().name != "gradient") continue;
      std::vector<double> all(static_cast<std::size_t>(tensor->spec().elements()));
      executor_.device(i).stream().wait();
      executor_.device(i).get(*tensor, [&](std::int64_t first, std::span<const double> part) {
        std::copy(part.begin(), part.end(), all.begin() + first);
      });
      return all;
    }
  }
  throw std::logic_error("a network without update");
}

/// Checks the one order of additions, and that this rank has sent and received the messages of all
/// steps (a row reports these counts).
void GradientExchange::check_control(Verification& verification) {
  const auto [sent, received] = control_->count();
  const std::int64_t expected =
      control_->neighbours() * std::ssize(buckets_) * static_cast<std::int64_t>(steps_);
  if (sent != expected || received != expected)
    verification.fail(
        fmt::format("{} control messages were sent and {} received (expected {} each)", sent,
                    received, expected));
  if (const std::string why = why_not_one_order(control_->order(), ranks_); !why.empty())
    verification.fail(why);
}

void GradientExchange::check(Verification& verification) {
  const OwnGradients& own = read_by_update().own;
  if (own.at.empty()) return;
  if (control_) check_control(verification);
  RankCalls calls(ranks_);
  std::vector<double> sums = own.values;
  for (const double value : own.values) sums.push_back(std::abs(value));
  calls.sum(sums);
  const std::vector<double> all = gradients_of_update();
  const Graph& graph = executor_.graph();
  double u = unit_roundoff(graph.value(graph.gradients).type) * ranks_.size(), least = 0;
  // On a narrower wire, each contribution and the sum are rounded once more.
  if (const auto bits = execution().wire_bits) {
    u += 2 * std::ldexp(1, -*bits);
    if (*bits == significand_of_fp16) least = std::ldexp(1, -25) * (ranks_.size() + 1);
  }
  for (std::size_t i = 0; i < own.at.size(); ++i) {
    const double has = all[static_cast<std::size_t>(own.at[i])],
                 bound = u * sums[own.at.size() + i] + least;
    if (std::abs(has - sums[i]) <= bound) continue;
    ++verification.wrong_elements;
    verification.fail(
        fmt::format("element {} of the sum of gradients{} is {} (expected {} within {:.3g})",
                    own.at[i], lags() ? " of the step before" : "", has, sums[i], bound));
  }
  verification.checked += static_cast<std::int64_t>(own.at.size());
}

}  // namespace assay
