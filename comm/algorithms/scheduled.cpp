#include "comm/algorithms/scheduled.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "comm/algorithms/algorithm.hpp"
#include "comm/forwarding.hpp"
#include "comm/reduce.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

/// A call under way.
struct CallState {
  const Schedule* schedule = nullptr;
  Call call;
  Stream* stream = nullptr;
  int tag = 0;
  std::size_t next = 0;  ///< step
  std::vector<Request> requests;
  std::vector<std::byte> scratch;
  bool active = false;
  /// A slot is in use from the start of its call until its request is done. So the number of slots
  /// depends on the order of calls, not on their speed, and the slots of the first runs suffice for
  /// all runs.
  bool taken = false;

  Buffer buffer(const Part& part) {
    switch (part.in) {
      case Part::Memory::send:
        return call.send.part(part.first, part.count);
      case Part::Memory::receive:
        return call.receive.part(part.first, part.count);
      case Part::Memory::scratch:
        break;
    }
    return Buffer{scratch.data(), 0, call.receive.type}.part(part.first, part.count);
  }
};

/// A schedule and the states of its calls: several only if calls of one shape were under way at the
/// same time.
struct Plan {
  Schedule schedule;
  std::size_t scratch_bytes = 0;
  std::vector<std::size_t> states;
};

class Scheduled final : public ForwardingCommunicator {
 public:
  Scheduled(Communicator& transport, ScheduledAlgorithm algorithm)
      : ForwardingCommunicator(transport), algorithm_(std::move(algorithm)) {}

  std::string why_not(const Call& call) const override {
    if (std::find(algorithm_.takes.begin(), algorithm_.takes.end(), call.what) ==
        algorithm_.takes.end()) {
      std::string has;
      for (const Collective what : algorithm_.takes)
        has += (has.empty() ? "" : ", ") + std::string(name(what));
      return algorithm_.name + " does not implement " + std::string(name(call.what)) +
             " (it implements " + has + ")";
    }
    if (const std::string reason = why_not_counts(call, size()); !reason.empty()) return reason;
    return combines(call.what) ? why_not_reduce(call.receive.type, call.op) : "";
  }

  void prepare(const Call& call) override {
    Plan& plan = find_plan(call);
    if (plan.states.empty()) add_state(plan);
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& state : states_) bytes += state->scratch.size();
    return bytes;
  }

  void describe(const Call& call, Execution& execution) const override {
    describe_own(
        algorithm_.name + " over messages of at most " + std::to_string(segment_bytes) + " bytes",
        call, execution);
  }

  void run(const Call& call, Stream& stream) override {
    Request request = start(call, stream);
    wait(request);
  }

  Request start(const Call& call, Stream& stream) override {
    Plan& plan = find_plan(call);
    auto idle = std::find_if(plan.states.begin(), plan.states.end(),
                             [&](std::size_t index) { return !states_[index]->taken; });
    const std::size_t number = idle == plan.states.end() ? add_state(plan) : *idle;
    CallState& state = *states_[number];
    state.call = call;
    state.stream = &stream;
    state.next = 0;
    // All ranks start calls in the same order, so they agree on the tag.
    state.tag = first_schedule_tag + static_cast<int>(started_++ % (32768 - first_schedule_tag));
    state.active = state.taken = true;
    if (under().has_tags() || active_.empty()) advance(state, false);
    if (state.active) active_.push_back(&state);
    return own_request(number);
  }

  /// Advances all calls, because another rank may wait for a different call first, which needs this
  /// rank. Blocks only in transfers of the oldest call. This cannot deadlock: in the oldest call
  /// that is under way on any rank, each rank either waits for a transfer of that call or has
  /// completed its part.
  void wait(Request& request) override {
    if (!is_own(request)) return ForwardingCommunicator::wait(request);
    CallState& mine = *states_.at(decode_number(request));
    while (mine.active) advance_all(true);
    mine.taken = false;
    request = {};
  }
  bool done(Request& request) override {
    if (!is_own(request)) return ForwardingCommunicator::done(request);
    advance_all(false);
    CallState& mine = *states_.at(decode_number(request));
    if (mine.active) return false;
    mine.taken = false;
    request = {};
    return true;
  }

 private:
  using Key = std::tuple<Collective, std::int64_t, std::int64_t, DataType, ReduceOp, int, bool>;

  Plan& find_plan(const Call& call) {
    const Key key{call.what, call.send.count, call.receive.count,    call.receive.type,
                  call.op,   call.root,       in_place(call, rank())};
    const auto entry = plans_.find(key);
    if (entry != plans_.end()) return entry->second;
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    ScheduleBuilder builder(call, rank(), size());
    algorithm_.write(call, builder);
    Plan plan{builder.finish(), 0, {}};
    plan.scratch_bytes =
        static_cast<std::size_t>(plan.schedule.scratch) * size_of(call.receive.type);
    return plans_.emplace(key, std::move(plan)).first->second;
  }

  std::size_t add_state(Plan& plan) {
    auto state = std::make_unique<CallState>();
    state->schedule = &plan.schedule;
    state->requests.resize(static_cast<std::size_t>(plan.schedule.requests));
    state->scratch.resize(plan.scratch_bytes);
    states_.push_back(std::move(state));
    active_.reserve(states_.size());
    plan.states.push_back(states_.size() - 1);
    return states_.size() - 1;
  }

  /// Ranks may reach the messages of two calls in different orders. Without tags they would be
  /// mixed up, so such calls run one after the other, in the order of their starts.
  void advance_all(bool waits) {
    for (CallState* state : active_) {
      advance(*state, waits && state == active_.front());
      if (state->active && !under().has_tags()) break;
    }
    std::erase_if(active_, [](const CallState* state) { return !state->active; });
  }

  /// Executes the schedule to its end, or up to a transfer that is not done. `waits`: blocks in the
  /// first transfer, so that other calls then advance; in all transfers, if there is no other call.
  void advance(CallState& state, bool waits) {
    const std::vector<Step>& steps = state.schedule->steps;
    for (; state.active && state.next < steps.size(); ++state.next) {
      const Step& step = steps[state.next];
      switch (step.what) {
        case Step::Action::send:
          find_request(state, step) =
              under().send(state.buffer(step.a), step.peer, state.tag, *state.stream);
          break;
        case Step::Action::receive:
          find_request(state, step) =
              under().receive(state.buffer(step.into), step.peer, state.tag, *state.stream);
          break;
        case Step::Action::wait:
          if (waits)
            under().wait(find_request(state, step));
          else if (!under().done(find_request(state, step)))
            return;
          waits = waits && active_.size() == 1;
          break;
        case Step::Action::copy:
          copy(state.buffer(step.into), state.buffer(step.a));
          break;
        case Step::Action::combine:
          combine(state.buffer(step.into), state.buffer(step.a), state.buffer(step.b),
                  state.call.op);
          break;
        case Step::Action::scale:
          scale(state.buffer(step.into), size());
          break;
      }
    }
    state.active = false;
  }
  static Request& find_request(CallState& state, const Step& step) {
    return state.requests[static_cast<std::size_t>(step.request)];
  }

  ScheduledAlgorithm algorithm_;
  std::map<Key, Plan> plans_;
  std::vector<std::unique_ptr<CallState>> states_;
  std::vector<CallState*> active_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_scheduled(Communicator& transport,
                                             ScheduledAlgorithm algorithm) {
  return std::make_unique<Scheduled>(transport, std::move(algorithm));
}

}  // namespace assay
