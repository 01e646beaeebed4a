// The steps of a trainer.
//
// A step is made in one of two ways. On a processor, with checks, and if why_waits_ says so, the
// host waits between the phases and times them by its own clock (wait_in_step). On a GPU, a step is
// submitted as a whole and timed by marks of the stream (start_step): the device is held until the
// whole step is submitted, so the measured time is only the device's. This is sound because
// - no submitted work depends on results that the host must read first. The device itself skips the
//   update, by its own counts of gradients that are not finite. The rate, the number of the update
//   and the loss scale are known before the step, as finish_step() has judged the previous one;
// - the data that the host reads (the counts, the statistics of the batch) are copied on the stream
//   before the step's last mark, into memory that nothing else writes, and read after waiting for
//   that mark. The step's time includes the copies, but not the host's sums of them, and no step
//   waits for these sums;
// - if the next step needs the host's part of this one (why_host), that part ends the step: the
//   step's time then includes the host's, and the row says so.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/base/error.hpp"
#include "core/measure/clock_offset.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/trainer.hpp"

namespace assay {
namespace {

using StepClock = std::chrono::steady_clock;

/// Marks of a step's phases. Marks 0 and 1 are those of a sample.
enum StepMark { begun_mark = 2, forward_mark, backward_mark, added_mark, updated_mark };

}  // namespace

void Trainer::judge_gradients(bool finite) { judge(finite, loss_scale_.scale()); }

/// Judges gradients that were made with `scale`. MPI does not guarantee that a sum has equal bits
/// on all ranks, but all ranks must choose the same next scale and repeat the same steps. So they
/// agree here.
void Trainer::judge(bool finite, double scale) {
  if (ranks_.size() > 1) {
    double flags[] = {finite ? 0.0 : 1.0, finite ? 1.0 : 0.0};
    // A step timed by the device is already over, so this call does not count as its collective.
    if (!device_seconds_) arrive();
    ranks_.allreduce_max(flags);
    if (!device_seconds_) leave();
    if (flags[0] + flags[1] > 1)
      throw CaseError(
          "the sum of the gradients is finite on some ranks and not on others, so their weights "
          "differ. Use another --allreduce or --allreduce-transport.");
  }
  loss_scale_.update(finite, scale);
  lowered_ = !finite && loss_scale_.scale() < scale;
  put_number(graph().loss_scale, loss_scale_.scale());
}

/// Call it at a collective. Earlier work is done, even on a device (run_pass() has waited for it).
void Trainer::arrive() {
  if (ranks_.size() == 1) return;
  Arrival& arrival = arrivals_.emplace_back();
  arrival.begun = since_;
  arrival.processor = process_seconds() - used_;
  if (arrivals_.size() == 1) arrival.network = seconds_.exposed_communication;
  arrival.at = raw_seconds();
}

void Trainer::leave() {
  if (ranks_.size() == 1) return;
  used_ = process_seconds();
  since_ = raw_seconds();
  arrivals_.back().wait = since_ - arrivals_.back().at;
}

double Trainer::lap() {
  device().stream().wait();
  const auto now = StepClock::now();
  const double seconds = std::chrono::duration<double>(now - lap_).count();
  lap_ = now;
  return seconds;
}

void Trainer::add_lap(double& phase) {
  const double communication = exchange_->take_seconds();
  phase += lap() - communication;
  seconds_.exposed_communication += communication;
}

/// `last`: the phase belongs to the last pass, in which the ranks begin to add. Runs the phase as a
/// whole unless the host must act between its nodes.
void Trainer::run_phase(Phase phase, bool last, StepCheck* check) {
  const bool adds_within = last && phase == Phase::backward && !graph().accumulates();
  const bool whole = check == nullptr && node_seconds_.empty() &&
                     (ranks_.size() == 1 || (!graph().lags() && !adds_within));
  // A single rank has nothing to do between nodes.
  const bool timed = !whole && check == nullptr && ranks_.size() == 1;
  if (whole) executor_->run(phase);
  if (timed) executor_->run_timed(phase, node_seconds_);
  for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
    if (graph().nodes[i].phase != phase) continue;
    if (!whole && !timed) run_node(i, check);
    if (last) exchange_->start_ready(i);
    exchange_->make_progress();
  }
}

/// Number of earlier steps of the training: the judged ones, and the one whose gradients wait.
std::int64_t Trainer::steps_begun() const {
  return loss_scale_.steps() + (waiting_scale_ > 0 ? 1 : 0);
}

/// Forward and backward pass. `last`: the ranks begin to add in the backward pass.
void Trainer::run_pass(bool last, StepCheck* check) {
  run_phase(Phase::forward, last, check);
  add_lap(seconds_.forward);
  run_phase(Phase::backward, last, check);
  run_phase(Phase::accumulate, last, check);
  add_lap(seconds_.backward);
}

void Trainer::run_passes(StepCheck* check, const std::function<void()>& load_next) {
  const std::int64_t passes = settings_.accumulate;
  const std::uint64_t checked =
      check == nullptr ? 0 : check->seed % static_cast<std::uint64_t>(passes);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const bool last = pass + 1 == passes;
    if (graph().passes != Graph::none)
      put_number(graph().passes, static_cast<double>(steps_begun() * passes + pass));
    run_pass(last, static_cast<std::uint64_t>(pass) == checked ? check : nullptr);
    if (last) return;
    earlier_losses_ += batch_loss();
    leave_results();
    device().stream().wait();
    average_statistics();
    seconds_.update += lap();
    if (load_next) load_next();
    lap_ = StepClock::now();
  }
}

void Trainer::expect_ended() const {
  if (started_) throw std::logic_error("a step was started, and has not ended");
}

void Trainer::begin_step(double rate, std::optional<std::uint64_t> seed) {
  expect_ended();
  lap_ = StepClock::now();
  put_number(graph().rate, rate);
  exchange_->begin(seed);
  seconds_ = {};
  device_seconds_.reset();
  earlier_losses_ = 0;
  arrivals_.clear();
  since_ = raw_seconds();
  used_ = process_seconds();
  if (graph().accumulates()) executor_->clear(graph().gradients);
}

void Trainer::step(double rate, StepCheck* check, const std::function<void()>& load_next) {
  const bool submitted =
      check == nullptr && node_seconds_.empty() && why_waits_.empty() && device().name() != "cpu";
  if (submitted) {
    start_step(rate);
    return finish_step();
  }
  const bool checks_sum =
      check != nullptr && check->gradient_sum && (ranks_.size() > 1 || graph().lags());
  begin_step(rate, checks_sum ? std::optional(check->seed) : std::nullopt);
  wait_in_step(check, load_next);
}

void Trainer::wait_in_step(StepCheck* check, const std::function<void()>& load_next) {
  run_passes(check, load_next);
  arrive();
  exchange_->wait();
  seconds_.exposed_communication += lap();
  exchange_->take_seconds();  // discards the time in wait(), which lap() includes
  leave();
  if (check != nullptr && check->gradient_sum && (ranks_.size() > 1 || graph().lags()))
    exchange_->check(check->verification);
  update(check);
  leave_results();
  take_results();
  seconds_.update += lap();
}

std::string Trainer::why_host() const {
  if (!why_waits_.empty()) return why_waits_;
  if (settings_.loss_scale.kind == LossScaleSettings::Kind::dynamic)
    return "the loss scale of a step depends on the gradients of the step before";
  // Without a loss scale no update is skipped: gradients that are not finite end the training.
  if (settings_.loss_scale.kind == LossScaleSettings::Kind::fixed && graph().step != Graph::none)
    return "the number of an update depends on how many before it were skipped";
  return "";
}

void Trainer::start_step(double rate) {
  if (!why_waits_.empty())
    throw std::logic_error("this step cannot be submitted as a whole: " + why_waits_);
  Stream& stream = device().stream();
  stream.mark(begun_mark);
  begin_step(rate, std::nullopt);
  if (graph().passes != Graph::none) put_number(graph().passes, static_cast<double>(steps_begun()));
  run_phase(Phase::forward, true, nullptr);
  stream.mark(forward_mark);
  run_phase(Phase::backward, true, nullptr);
  stream.mark(backward_mark);
  exchange_->order();
  stream.mark(added_mark);
  update(nullptr);
  leave_results();
  stream.mark(updated_mark);
  started_ = true;
}

void Trainer::wait_for_sums() {
  if (started_) exchange_->wait();
}

void Trainer::finish_step(std::optional<double> begun) {
  wait_for_sums();
  if (!std::exchange(started_, false)) throw std::logic_error("no step was started");
  Stream& stream = device().stream();
  stream.wait();
  exchange_->take_seconds();  // discards the host's time to submit the sums
  seconds_ = {stream.seconds(begun_mark, forward_mark), stream.seconds(forward_mark, backward_mark),
              stream.seconds(backward_mark, added_mark), stream.seconds(added_mark, updated_mark)};
  device_seconds_ = stream.seconds(begun_mark, updated_mark);
  if (ranks_.size() > 1) {
    Arrival& arrival = arrivals_.emplace_back();
    arrival.begun = begun.value_or(since_);
    arrival.at = arrival.begun + stream.seconds(begun_mark, backward_mark);
    arrival.processor = process_seconds() - used_;
    arrival.wait = seconds_.exposed_communication;
  }
  take_results();
}

/// Updates with this step's gradients. With a lag, updates with the waiting gradients, and this
/// step's gradients then wait in their place. Gradients are judged with the loss scale that they
/// were made with, which may have changed since then.
void Trainer::update(StepCheck* check) {
  scale_of_update_ = graph().lags() ? waiting_scale_ : loss_scale_.scale();
  updated_ = scale_of_update_ > 0;
  lowered_ = false;
  if (updated_) {
    put_number(graph().unscale,
               1 / (static_cast<double>(ranks_.size() * settings_.accumulate) * scale_of_update_));
    const LossScaleState& scale = loss_scale_.state();
    if (graph().step != Graph::none)  // skipped updates do not count
      put_number(graph().step, static_cast<double>(scale.steps - scale.skipped + 1));
    run_phase(Phase::update, false, check);
  }
  if (graph().lags()) waiting_scale_ = loss_scale_.scale();
  exchange_->end();
}

/// Returns before the copy is complete.
void Trainer::copy_result(ValueIndex value, std::size_t at) {
  const std::size_t bytes =
      static_cast<std::size_t>(graph().elements(value)) * size_of(graph().value(value).type);
  if (bytes > 0)
    device().copy(static_cast<double*>(results_.get()) + at, executor_->memory(value).get(), bytes);
}

void Trainer::leave_results() {
  copy_result(graph().counts, 0);
  copy_result(graph().batch_statistics, static_cast<std::size_t>(graph().elements(graph().counts)));
}

void Trainer::take_results() {
  device().stream().wait();
  if (updated_) judge(*static_cast<const double*>(results_.get()) == 0, scale_of_update_);
  average_statistics();
}

/// Uses the statistics that leave_results() has copied. The caller has waited for the copy.
void Trainer::average_statistics() {
  decode(graph().value(graph().batch_statistics).type,
         static_cast<const double*>(results_.get()) + graph().elements(graph().counts),
         batch_statistics_);
  average(graph(), statistics_momentum, batch_statistics_, running_);
}

std::vector<double> Trainer::time_step(double rate) {
  node_seconds_.assign(graph().nodes.size(), 0);
  step(rate);
  return std::exchange(node_seconds_, {});
}

}  // namespace assay
