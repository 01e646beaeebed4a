#include "models/network/training_oracle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/clock.hpp"
#include "models/network/convergence.hpp"
#include "models/network/parameters.hpp"
#include "models/ranks.hpp"

namespace assay {

/// Seconds for which the process may be interrupted between two readings of clocks.
static constexpr double longest_interruption = 0.1;

TrainingOracle::TrainingOracle(const Settings& settings, const NetworkDefinition& network,
                               std::uint64_t seed, Communicator& ranks)
    : settings_(settings),
      network_(network),
      claims_(settings, network.input, seed),
      ranks_(ranks),
      data_(claims_, ranks.rank()),
      evaluation_(data_, ranks),
      ledger_(claims_, ranks),
      rate_(settings, claims_.steps()),
      scale_(settings.at("loss_scale"), settings.at("lag") != "0") {}

void TrainingOracle::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void TrainingOracle::begin(Trainer& trainer, std::int64_t epoch, std::int64_t step,
                           bool restarted) {
  epoch_ = epoch;
  step_ = step;
  if (!restarted)
    note(find_fault_of_start(trainer, settings_.at("problem"), network_, claims_.trial_seed));
  note(find_fault_of_ranks(trainer.executor(), ranks_));
  note(scale_.begin(trainer.loss_scale().state(), restarted));
}

void TrainingOracle::begin_epoch(std::int64_t epoch, std::int64_t step) {
  if (epoch != epoch_ || step != step_)
    note(fmt::format("step {} of epoch {} follows step {} of epoch {}", step, epoch + 1, step_,
                     epoch_ + 1));
  ledger_.begin(epoch, step);
  first_step_ = step;
  losses_ = seconds_ = 0;
  counted_ = 0;
}

void TrainingOracle::take(const Batch& batch) {
  note(data_.glance(batch));
  if (!rehearses_) ledger_.add(batch);
}

void TrainingOracle::judge(const Batch& batch, Trainer& trainer) {
  note(data_.fault(batch, true));
  note(BatchOracle::fault_of_copy(batch, trainer.executor()));
  checked_ += std::ssize(batch.images);
}

void TrainingOracle::end_step(Trainer& trainer, double rate, double loss, bool checked,
                              bool slowed) {
  if (!slowed) ++counted_;
  if (!slowed) seconds_ += seconds_since(step_began_);
  const double expected = rate_.at(epoch_ * claims_.steps() + step_);
  if (!ClaimedRate::agrees(rate, expected))
    note(fmt::format("the learning rate of step {} of epoch {} is {}, not {}", step_, epoch_ + 1,
                     rate, expected));
  if (rehearses_) return;
  if (const std::string fault = scale_.step(trainer.loss_scale().state()); !fault.empty())
    note(fmt::format("after step {} of epoch {}, {}", step_, epoch_ + 1, fault));
  if (checked) judge_step(trainer, rate, loss);
  losses_ += loss;
  ++step_;
}

void TrainingOracle::judge_step(Trainer& trainer, double rate, double loss) {
  const std::vector<double> losses = read_values(trainer.executor(), trainer.graph().losses);
  const double mean =
      std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  if (claims_.passes == 1 && std::fabs(loss - mean) > 1e-9 * std::fabs(mean))
    note(fmt::format("the loss of a step is {}, not the mean {} of its images", loss, mean));
  const double used = read_values(trainer.executor(), trainer.graph().rate)[0];
  if (std::fabs(used - rate) > 1e-6 * rate + std::numeric_limits<float>::min())
    note(fmt::format("the update has the learning rate {}, not {}", used, rate));
  if (trainer.has_updated() && (trainer.counts()[0] > 0) != scale_.skipped())
    note(fmt::format("{} elements of the gradient are not finite, and the step was {}",
                     trainer.counts()[0], scale_.skipped() ? "skipped" : "made"));
}

/// Judges the epoch's result, except for numbers that are not finite: the training itself refuses
/// them.
void TrainingOracle::judge_numbers(const EpochResult& trained) {
  double losses = losses_;
  RankCalls(ranks_).sum(std::span(&losses, 1));
  const double loss = losses / static_cast<double>(claims_.steps() * claims_.ranks);
  if (first_step_ == 0 && std::fabs(trained.training_loss - loss) > 1e-9 * std::fabs(loss))
    note(fmt::format("the training loss of epoch {} is {}, not {}", epoch_ + 1,
                     trained.training_loss, loss));
  const double images = static_cast<double>(claims_.passes * claims_.batch * claims_.ranks),
               counted = static_cast<double>(counted_) * images / trained.images_per_s;
  // The counted time includes all steps, so it is at least the measured time of those without
  // checks.
  if (counted < 0.99 * seconds_)
    note(
        fmt::format("{} steps of epoch {} have {} images/s, which is {:.4g} s, but {:.4g} s have "
                    "passed in those without checks",
                    counted_, epoch_ + 1, trained.images_per_s, counted, seconds_));
}

void TrainingOracle::end_epoch(Trainer& trainer, const EpochResult& trained) {
  judge_numbers(trained);
  if (step_ != claims_.steps())
    note(fmt::format("epoch {} has ended after {} steps, not {}", epoch_ + 1, step_,
                     claims_.steps()));
  note(ledger_.end());
  note(find_fault_of_ranks(trainer.executor(), ranks_));
  ++epoch_;
  step_ = 0;
}

void TrainingOracle::end(const Convergence& convergence, bool restarted) {
  const double target = std::stod(settings_.at("target"));
  const std::int64_t epochs = std::stoll(settings_.at("epochs"));
  const Labels labels = network_.input.labels;
  const Quality quality = labels == Labels::none        ? Quality::correlation
                          : labels == Labels::per_pixel ? Quality::iou
                                                        : Quality::accuracy;
  if (convergence.epochs.empty() || !convergence.epochs.back().evaluation)
    return note("a training has ended without a validation");
  if (convergence.epochs.front().epoch > 1 && !restarted)
    note(fmt::format("a training begins with epoch {}", convergence.epochs.front().epoch));
  for (std::size_t i = 0; i < convergence.epochs.size(); ++i) {
    const EpochResult& result = convergence.epochs[i];
    if (i > 0 && result.epoch != convergence.epochs[i - 1].epoch + 1)
      note(fmt::format("epoch {} follows epoch {}", result.epoch, convergence.epochs[i - 1].epoch));
    if (!result.evaluation) continue;
    if (result.evaluation->quality != quality)
      note(fmt::format("a validation has {}, but the network is judged by {}",
                       name(result.evaluation->quality), name(quality)));
    const bool reaches = result.evaluation->score >= target,
               last = i + 1 == convergence.epochs.size();
    if (reaches != (last && convergence.reached))
      note(fmt::format("the {} {} after epoch {} {} the target {}, but the training {}",
                       name(quality), result.evaluation->score, result.epoch,
                       reaches ? "reaches" : "does not reach", target,
                       !last                 ? "went on"
                       : convergence.reached ? "counts it as reached"
                                             : "counts it as missed"));
  }
  judge_times(convergence, restarted);
  if (convergence.epochs.back().epoch != epoch_ || (!convergence.reached && epoch_ != epochs))
    note(fmt::format("a training of {} epochs has ended after {}", epochs, epoch_));
}

/// The seconds of an epoch must be at least those of its steps, at the speed of the epoch, and of
/// its validation. The seconds of a run before a restart are not known here. An interruption
/// between the readings of the two clocks may make a single epoch seem too short. A training that
/// counts too little does so in most epochs, so short ones are a fault only if they are the
/// majority, or if one lacks more than an interruption.
void TrainingOracle::judge_times(const Convergence& convergence, bool restarted) {
  const double images =
      static_cast<double>(claims_.steps() * claims_.passes * claims_.batch * claims_.ranks);
  std::size_t validations = 0, judged = 0, short_ones = 0;
  std::string first;
  for (std::size_t i = 0; i < convergence.epochs.size(); ++i) {
    const EpochResult& result = convergence.epochs[i];
    double least = result.has_steps() ? images / result.images_per_s : 0;
    if (result.evaluation && validations < evaluation_.seconds().size())
      least += evaluation_.seconds()[validations++];
    if (i == 0 && restarted) continue;
    const double passed = result.seconds - (i == 0 ? 0 : convergence.epochs[i - 1].seconds);
    ++judged;
    if (passed >= 0.99 * least) continue;
    const std::string text =
        fmt::format("epoch {} and its validation count {:.4g} s, but took {:.4g} s", result.epoch,
                    passed, least);
    if (least - passed > longest_interruption) note(text);
    if (short_ones++ == 0) first = text;
  }
  if (2 * short_ones > judged) note(first);
}

Verification TrainingOracle::verification() const {
  Verification verification;
  verification.reason = fault_.empty() ? evaluation_.fault() : fault_;
  verification.passed = verification.reason.empty();
  verification.checked = checked_ + evaluation_.checked();
  return verification;
}

}  // namespace assay
