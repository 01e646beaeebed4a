#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "core/base/error.hpp"
#include "tests/transports/contract.hpp"

namespace assay::testing {

namespace {

constexpr std::int64_t margin = 8;  ///< elements before and after every buffer that must stay

/// Element i of rank r: integers that differ between ranks, elements and calls. Sums over up to 30
/// ranks are below 256: exact in bf16, too.
double value(int rank, std::int64_t i, int salt) {
  return static_cast<double>((i * 7 + rank * 11 + salt * 5) % 17 - 8);
}

double combined(int ranks, std::int64_t i, int salt, ReduceOp op) {
  double result = value(0, i, salt);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = value(rank, i, salt);
    if (op == ReduceOp::max)
      result = std::max(result, next);
    else if (op == ReduceOp::min)
      result = std::min(result, next);
    else
      result += next;
  }
  return op == ReduceOp::average ? result / ranks : result;
}

/// Memory of one buffer with its margins.
class Guarded {
 public:
  Guarded(DataType type, std::int64_t count, double fill)
      : type_(type), count_(count), memory_((count + 2 * margin) * size_of(type)) {
    const std::vector<double> all(static_cast<std::size_t>(count + 2 * margin), fill);
    encode(type, all, memory_.data());
  }
  std::int64_t count() const { return count_; }
  Buffer buffer() { return {memory_.data() + margin * size_of(type_), count_, type_}; }
  void set(std::span<const double> values, std::int64_t first) {
    encode(type_, values, memory_.data() + (margin + first) * size_of(type_));
  }
  std::vector<double> values() const {
    std::vector<double> all(static_cast<std::size_t>(count_ + 2 * margin));
    decode(type_, memory_.data(), all);
    return all;
  }

 private:
  DataType type_;
  std::int64_t count_;
  std::vector<std::byte> memory_;
};

bool reduces(Collective what) {
  return what == Collective::allreduce || what == Collective::reduce ||
         what == Collective::reduce_scatter;
}

/// Differences by more than two units in the last place: an average is divided, and so rounded.
bool differs(DataType type, ReduceOp op, double a, double b) {
  if (op != ReduceOp::average) return a != b;
  return !(std::abs(a - b) <= 4 * unit_roundoff(type) * std::abs(b));
}

/// The kind of a call: everything but the rank that makes it.
struct CallKind {
  Collective what;
  DataType type;
  ReduceOp op;
  bool in_place;
  std::int64_t part;
  int root;
  int salt;  ///< of the data

  bool scatters() const { return what == Collective::reduce_scatter; }
  bool gathers() const { return what == Collective::allgather; }
  /// The elements of a whole buffer, which holds a part for each rank if the collective has parts.
  std::int64_t whole(int ranks) const {
    return scatters() || gathers() || what == Collective::alltoall ? part * ranks : part;
  }
};

/// The buffers of a call on this rank, its input, and what must be in them afterwards.
class Trial {
 public:
  Trial(const CallKind& kind, int ranks, int me)
      : kind_(kind),
        ranks_(ranks),
        me_(me),
        whole_(kind.whole(ranks)),
        send_(kind.type, kind.gathers() ? kind.part : whole_, filler),
        receive_(kind.type, kind.in_place || !kind.scatters() ? whole_ : kind.part, filler),
        call_{kind.what, send_.buffer(), receive_.buffer(), kind.op, kind.root} {
    if (kind.scatters() && kind.in_place)
      call_.receive = call_.receive.part(me * kind.part, kind.part);
    if (kind.what == Collective::broadcast) {
      call_.send = {};
    } else if (kind.in_place) {
      call_.send = receive_.buffer();
      if (kind.gathers()) call_.send = call_.send.part(me * kind.part, kind.part);
    }
    set_input();
    sent_ = send_.values();
    before_ = receive_.values();
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Call& call() const { return call_; }
  bool input_kept() const { return send_.values() == sent_; }
  bool output_kept() const { return receive_.values() == before_; }

  /// The first element that is not what it must be; nothing where all are right.
  std::optional<std::string> wrong_element() const {
    std::vector<double> expected = before_;
    std::vector<bool> free(expected.size(), false);  // scratch of an in-place call
    expect_outcome(expected, free);
    const std::vector<double> result = receive_.values();
    const ReduceOp op = reduces(kind_.what) ? kind_.op : ReduceOp::sum;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!free[i] && differs(kind_.type, op, result[i], expected[i]))
        return fmt::format("element {} of {} is {}, expected {}",
                           static_cast<std::int64_t>(i) - margin, whole_, result[i], expected[i]);
    return std::nullopt;
  }

 private:
  static constexpr double filler = 99;

  void set_input() {
    std::vector<double> mine(static_cast<std::size_t>(kind_.gathers() ? kind_.part : whole_));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = value(me_, static_cast<std::int64_t>(i), kind_.salt);
    if (kind_.what == Collective::broadcast) {
      if (me_ == kind_.root) receive_.set(mine, 0);
    } else if (kind_.in_place) {
      receive_.set(mine, kind_.gathers() ? me_ * kind_.part : 0);
    } else {
      send_.set(mine, 0);
    }
  }

  /// Only the receiver's own elements may differ from before.
  void expect_outcome(std::vector<double>& expected, std::vector<bool>& free) const {
    const bool in_part = kind_.in_place && kind_.scatters();
    const std::int64_t outcome = in_part ? kind_.part : receive_.count();
    const std::int64_t first = in_part ? me_ * kind_.part : 0;
    if (in_part)
      for (std::int64_t i = 0; i < whole_; ++i) free[static_cast<std::size_t>(margin + i)] = true;
    if (kind_.what == Collective::reduce && me_ != kind_.root) return;
    for (std::int64_t i = 0; i < outcome; ++i) {
      expected[static_cast<std::size_t>(margin + first + i)] = expected_element(i);
      free[static_cast<std::size_t>(margin + first + i)] = false;
    }
  }

  /// Element i of the outcome.
  double expected_element(std::int64_t i) const {
    const std::int64_t part = kind_.part;
    if (kind_.what == Collective::broadcast) return value(kind_.root, i, kind_.salt);
    if (kind_.gathers()) return value(static_cast<int>(i / part), i % part, kind_.salt);
    if (kind_.what == Collective::alltoall)
      return value(static_cast<int>(i / part), me_ * part + i % part, kind_.salt);
    return round_to(kind_.type, combined(ranks_, (kind_.scatters() ? me_ * part : 0) + i,
                                         kind_.salt, kind_.op));
  }

  CallKind kind_;
  int ranks_, me_;
  std::int64_t whole_;
  Guarded send_, receive_;
  Call call_;
  std::vector<double> sent_, before_;
};

}  // namespace

void Contract::expect(bool right, const std::string& what) {
  if (!right && failures_.size() < 20) failures_.push_back(what);
}

void Contract::one_call(Collective what, DataType type, ReduceOp op, bool in_place,
                        std::int64_t part, int root, int way) {
  const std::string title =
      fmt::format("{} {} {} {} elements {} root {} way {}", name(what), name(type), name(op), part,
                  in_place ? "in place" : "out of place", root, way);
  if (loud_) std::cerr << title << std::endl;
  const Trial trial({what, type, op, in_place, part, root, static_cast<int>(calls_ % 13)},
                    ranks_.size(), ranks_.rank());
  const Call& call = trial.call();
  const std::string refusal = ranks_.why_not(call);
  const std::vector<std::string> refusals = ranks_.allgather(refusal);
  ++calls_;
  if (std::any_of(refusals.begin(), refusals.end(),
                  [&](const std::string& other) { return other != refusals[0]; })) {
    expect(false, title + ": the ranks differ in why_not");
    return;  // some would wait for the others
  }
  if (!refusal.empty()) {
    refused_.insert(refusal);
    bool refused = false;
    try {
      ranks_.run(call, stream_);
    } catch (const CaseError&) {
      refused = true;
    }
    expect(refused, title + ": refused by why_not (" + refusal + "), but run");
    expect(trial.input_kept() && trial.output_kept(),
           title + ": refused, but buffers were written");
    return;
  }

  if (way > 0) ranks_.prepare(call);
  if (way < 2) {
    ranks_.run(call, stream_);
  } else {
    Request request = ranks_.start(call, stream_);
    while (way == 3 && !ranks_.done(request)) {
    }
    ranks_.wait(request);
    ranks_.wait(request);  // done already: returns at once
    expect(ranks_.done(request), title + ": waited for, but not done");
  }
  stream_.wait();
  if (const auto wrong = trial.wrong_element()) expect(false, title + ": " + *wrong);
  expect(trial.input_kept(), title + ": the input was written");
}

void Contract::first_calls() {
  for (const Collective what :
       {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
        Collective::allgather, Collective::broadcast, Collective::alltoall})
    for (int again = 0; again < (what == Collective::reduce_scatter ? 8 : 2); ++again) {
      const auto fresh = ranks_.split(0, ranks_.rank());
      Contract first(*fresh, loud_);
      first.calls_ = calls_;  // other data than the call before
      first.one_call(what, DataType::fp32, ReduceOp::sum, false, (1 << 22) / ranks_.size(), 0, 1);
      for (const std::string& failure : first.failures_) expect(false, "first: " + failure);
      refused_.insert(first.refused_.begin(), first.refused_.end());
      calls_ = first.calls_;
    }
}

void Contract::calls_under_way() {
  const std::vector<std::int64_t> counts{1000, 300000, 3, 1000, 70000};
  const int n = ranks_.size(), me = ranks_.rank(), salt = static_cast<int>(calls_ % 13);
  if (loud_) std::cerr << "several calls under way" << std::endl;
  std::vector<Guarded> sends, receives;
  std::vector<Request> requests;
  for (const std::int64_t count : counts) {
    sends.emplace_back(DataType::fp32, count, 0);
    receives.emplace_back(DataType::fp32, count, 99);
    std::vector<double> mine(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = value(me, static_cast<std::int64_t>(i), salt);
    sends.back().set(mine, 0);
  }
  for (std::size_t call = 0; call < counts.size(); ++call) {
    requests.push_back(ranks_.start(
        {Collective::allreduce, sends[call].buffer(), receives[call].buffer(), ReduceOp::sum, 0},
        stream_));
    // Some ranks get further than others before the next one starts.
    for (int i = 0; i < 50 * me; ++i)
      for (Request& request : requests) ranks_.done(request);
  }
  for (std::size_t i = 0; i < requests.size(); ++i)
    ranks_.wait(requests[(i * (me % 2 == 0 ? 1 : 4) + 2) % requests.size()]);
  calls_ += counts.size();
  for (std::size_t call = 0; call < counts.size(); ++call) {
    const std::vector<double> result = receives[call].values();
    for (std::int64_t i = 0; i < counts[call]; ++i)
      if (result[static_cast<std::size_t>(margin + i)] != combined(n, i, salt, ReduceOp::sum)) {
        expect(false, fmt::format("call {} of {} under way: element {} is {}, expected {}", call,
                                  counts.size(), i, result[static_cast<std::size_t>(margin + i)],
                                  combined(n, i, salt, ReduceOp::sum)));
        break;
      }
  }
}

void Contract::collectives() {
  const int n = ranks_.size();
  int way = 0;
  for (const Collective what :
       {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
        Collective::allgather, Collective::broadcast, Collective::alltoall}) {
    for (const DataType type :
         {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::s32})
      for (const ReduceOp op : reduces(what) ? std::vector{ReduceOp::sum, ReduceOp::min,
                                                           ReduceOp::max, ReduceOp::average}
                                             : std::vector{ReduceOp::sum})
        for (const bool in_place : {false, true})
          for (const std::int64_t count : {0, 1, 3, 1024, 40007}) {
            if (what == Collective::broadcast && in_place) continue;  // there is one buffer
            one_call(what, type, op, in_place, count, way % n, way % 4);
            ++way;
          }
    // Roots at both ends, whatever the counting above gave.
    if (what == Collective::reduce || what == Collective::broadcast)
      for (const int root : {0, n - 1})
        one_call(what, DataType::fp32, ReduceOp::sum, false, 1000, root, 0);
  }
  Call barrier;
  barrier.what = Collective::barrier;
  if (const std::string refusal = ranks_.why_not(barrier); !refusal.empty())
    refused_.insert(refusal);
  else
    for (int i = 0; i < 3; ++i) ranks_.run(barrier, stream_);

  // Buffers that do not fit are refused, not cut.
  std::vector<float> memory(static_cast<std::size_t>(4 * n + 4));
  const auto part = [&](std::int64_t count) {
    return Buffer{memory.data(), count, DataType::fp32};
  };
  for (const Call& wrong :
       {Call{Collective::allreduce, part(4), part(3), ReduceOp::sum, 0},
        Call{Collective::allgather, part(2), part(2 * n + 1), ReduceOp::sum, 0},
        Call{Collective::reduce_scatter, part(2 * n + 1), part(2), ReduceOp::sum, 0}})
    expect(!ranks_.why_not(wrong).empty(),
           fmt::format("{} of {} into {} elements was not refused", name(wrong.what),
                       wrong.send.count, wrong.receive.count));
  if (n > 1)
    expect(
        !ranks_.why_not({Collective::alltoall, part(n + 1), part(n + 1), ReduceOp::sum, 0}).empty(),
        "an alltoall that the ranks do not divide was not refused");
}

}  // namespace assay::testing
