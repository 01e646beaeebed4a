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

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_of_bucket = 64;
constexpr int significand_of_fp16 = 11;

}  // namespace

GradientExchange::GradientExchange(Executor& executor, Communicator& ranks, Communicator& adding,
                                   std::size_t bucket_bytes, bool staged)
    : executor_(executor), ranks_(ranks), adding_(adding), staged_(staged) {
  plan_buckets(bucket_bytes);
  now_.requests.resize(buckets_.size());
  before_.requests.resize(buckets_.size());
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
  std::size_t added = 0;  // where gradients are accumulated: the node after which all are there
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

Call GradientExchange::call_of(const Bucket& bucket, ValueIndex in) const {
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
      const Call call = call_of(bucket, in);
      if (const std::string why = adding_.why_not(call); !why.empty())
        throw CaseError("the ranks cannot add gradients: " + why);
      adding_.prepare(call);
    }
  }
}

Executed GradientExchange::executed() const {
  Executed executed;
  if (ranks_.size() > 1)
    adding_.describe(call_of(buckets_.front(), executor_.graph().gradients), executed);
  return executed;
}

void GradientExchange::begin(std::optional<std::uint64_t> seed) {
  ++steps_;
  seed_ = lags() && !seed ? steps_ : seed;
  now_.own.at.clear();
  now_.own.values.clear();
}

void GradientExchange::keep(const Bucket& bucket) {
  std::mt19937_64 random(*seed_ + static_cast<std::uint64_t>(bucket.first));
  const Call call = call_of(bucket, executor_.graph().gradients);
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

void GradientExchange::start_ready(std::size_t node) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i].ready != node) continue;
    if (seed_) keep(buckets_[i]);
    if (ranks_.size() == 1) continue;
    Stream& stream = executor_.device().stream();
    if (staged_)
      stream.wait();  // so that only communication is counted, not the computation before
    const auto start = Clock::now();
    now_.requests[i] = adding_.start(call_of(buckets_[i], executor_.graph().gradients), stream);
    if (staged_) stream.wait();  // for the copy of the sum
    seconds_ += seconds_since(start);
  }
}

/// Most transports go on within their calls alone. Asking for one sum moves all of them.
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

void GradientExchange::wait() { wait_for(read_by_update()); }

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

/// From the tensor that the operation is bound to, whatever the graph calls it.
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

void GradientExchange::check(Verification& verification) {
  const OwnGradients& own = read_by_update().own;
  if (own.at.empty()) return;
  RankCalls calls(ranks_);
  std::vector<double> sums = own.values;
  for (const double value : own.values) sums.push_back(std::abs(value));
  calls.sum(sums);
  const std::vector<double> all = gradients_of_update();
  const Graph& graph = executor_.graph();
  double u = unit_roundoff(graph.value(graph.gradients).type) * ranks_.size(), least = 0;
  // On a narrower wire every contribution, and the sum, are rounded once more.
  if (const auto bits = executed().wire_bits) {
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
