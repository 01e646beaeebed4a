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
struct Execution {
  const Schedule* schedule = nullptr;
  Call call;
  Stream* stream = nullptr;
  int tag = 0;
  std::size_t next = 0;  ///< step
  std::vector<Request> requests;
  std::vector<std::byte> scratch;
  bool active = false;
  /// A slot is in use from the start of its call until its request is done: so the number in use at
  /// a time depends on the calls that are made, never on how fast they go, and the slots that the
  /// first runs have allocated are enough for all.
  bool taken = false;

  Buffer buffer(const Part& part) {
    switch (part.in) {
      case Part::In::send:
        return call.send.part(part.first, part.count);
      case Part::In::receive:
        return call.receive.part(part.first, part.count);
      case Part::In::scratch:
        break;
    }
    return Buffer{scratch.data(), 0, call.receive.type}.part(part.first, part.count);
  }
};

/// A schedule, and what was used to follow it: more than one only where calls of one shape were
/// under way at the same time.
struct Plan {
  Schedule schedule;
  std::size_t scratch_bytes = 0;
  std::vector<std::size_t> executions;
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
    if (plan.executions.empty()) add_execution(plan);
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& execution : executions_) bytes += execution->scratch.size();
    return bytes;
  }

  void describe(const Call& call, Executed& executed) const override {
    describe_own(
        algorithm_.name + " over messages of at most " + std::to_string(segment_bytes) + " bytes",
        call, executed);
  }

  void run(const Call& call, Stream& stream) override {
    Request request = start(call, stream);
    wait(request);
  }

  Request start(const Call& call, Stream& stream) override {
    Plan& plan = find_plan(call);
    auto idle = std::find_if(plan.executions.begin(), plan.executions.end(),
                             [&](std::size_t index) { return !executions_[index]->taken; });
    const std::size_t number = idle == plan.executions.end() ? add_execution(plan) : *idle;
    Execution& execution = *executions_[number];
    execution.call = call;
    execution.stream = &stream;
    execution.next = 0;
    // All ranks start calls in the same order, so they agree on the tag.
    execution.tag =
        first_schedule_tag + static_cast<int>(started_++ % (32768 - first_schedule_tag));
    execution.active = execution.taken = true;
    if (under().has_tags() || active_.empty()) advance(execution, false);
    if (execution.active) active_.push_back(&execution);
    return own_request(number);
  }

  /// Other ranks may wait for another call first, for which they need this rank, too: all advance.
  /// Waited is for transfers of the oldest call, which is none of a call that another rank is kept
  /// from: of the oldest that is under way anywhere, each rank waits for a transfer, or it has done
  /// all of its own.
  void wait(Request& request) override {
    if (!is_own(request)) return ForwardingCommunicator::wait(request);
    Execution& mine = *executions_.at(decode_number(request));
    while (mine.active) advance_all(true);
    mine.taken = false;
    request = {};
  }
  bool done(Request& request) override {
    if (!is_own(request)) return ForwardingCommunicator::done(request);
    advance_all(false);
    Execution& mine = *executions_.at(decode_number(request));
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

  std::size_t add_execution(Plan& plan) {
    auto execution = std::make_unique<Execution>();
    execution->schedule = &plan.schedule;
    execution->requests.resize(static_cast<std::size_t>(plan.schedule.requests));
    execution->scratch.resize(plan.scratch_bytes);
    executions_.push_back(std::move(execution));
    active_.reserve(executions_.size());
    plan.executions.push_back(executions_.size() - 1);
    return executions_.size() - 1;
  }

  /// Messages of two calls that have no tags would be taken for each other's, as ranks come to them
  /// in different orders: such calls go one after the other, in the order of their starts.
  void advance_all(bool waits) {
    for (Execution* execution : active_) {
      advance(*execution, waits && execution == active_.front());
      if (execution->active && !under().has_tags()) break;
    }
    std::erase_if(active_, [](const Execution* execution) { return !execution->active; });
  }

  /// Follows the schedule to its end, or to a transfer that is not done. `waits`: for the first
  /// transfer, before others go on; for all, where there are no others.
  void advance(Execution& execution, bool waits) {
    const std::vector<Step>& steps = execution.schedule->steps;
    for (; execution.active && execution.next < steps.size(); ++execution.next) {
      const Step& step = steps[execution.next];
      switch (step.what) {
        case Step::Do::send:
          find_request(execution, step) =
              under().send(execution.buffer(step.a), step.peer, execution.tag, *execution.stream);
          break;
        case Step::Do::receive:
          find_request(execution, step) = under().receive(execution.buffer(step.into), step.peer,
                                                          execution.tag, *execution.stream);
          break;
        case Step::Do::wait:
          if (waits)
            under().wait(find_request(execution, step));
          else if (!under().done(find_request(execution, step)))
            return;
          waits = waits && active_.size() == 1;
          break;
        case Step::Do::copy:
          copy(execution.buffer(step.into), execution.buffer(step.a));
          break;
        case Step::Do::combine:
          combine(execution.buffer(step.into), execution.buffer(step.a), execution.buffer(step.b),
                  execution.call.op);
          break;
        case Step::Do::scale:
          scale(execution.buffer(step.into), size());
          break;
      }
    }
    execution.active = false;
  }
  static Request& find_request(Execution& execution, const Step& step) {
    return execution.requests[static_cast<std::size_t>(step.request)];
  }

  ScheduledAlgorithm algorithm_;
  std::map<Key, Plan> plans_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::vector<Execution*> active_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> scheduled(Communicator& transport, ScheduledAlgorithm algorithm) {
  return std::make_unique<Scheduled>(transport, std::move(algorithm));
}

}  // namespace assay
