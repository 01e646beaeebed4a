#include "core/measure/blame_recorder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/machine/contention.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/links.hpp"

namespace assay {
namespace {

constexpr std::size_t most_events = 4096, most_numbers = std::size_t{1} << 20;
/// Numbers that the ranks exchange at a time.
constexpr std::size_t numbers_at_once = std::size_t{1} << 16;

/// Input and computing, of an arrival without its communication.
double worked(const Arrival& arrival) { return arrival.at - arrival.begun; }

}  // namespace

BlameRecorder::BlameRecorder(Communicator& ranks, std::string of, std::string device)
    : ranks_(ranks),
      of_(std::move(of)),
      device_(std::move(device)),
      most_(std::clamp(most_numbers / static_cast<std::size_t>(ranks.size()),
                       std::size_t{4} * least_events, most_events)) {}

void BlameRecorder::begin() {
  before_ = clock_offset(ranks_);
  ready_before_ = contention().waiting;
}

void BlameRecorder::end(const std::vector<Arrival>& arrivals) {
  const std::optional<double> ready = contention().waiting;
  if (ready && ready_before_ && ready_)
    *ready_ += std::max(0.0, *ready - *ready_before_);
  else
    ready_.reset();
  const ClockOffset after = clock_offset(ranks_);
  error_ = std::max(error_, alignment_error(before_, after));
  for (Arrival arrival : arrivals) {
    // Earlier communication is no work of this rank: it may have waited for another one.
    arrival.at = aligned(arrival.at, before_, after) - arrival.network;
    arrival.begun = aligned(arrival.begun, before_, after);
    keep(arrival);
  }
}

void BlameRecorder::keep(const Arrival& arrival) {
  if (seen_++ % stride_ != 0) return;
  kept_.push_back(arrival);
  if (kept_.size() < most_) return;
  for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
  kept_.resize((kept_.size() + 1) / 2);
  stride_ *= 2;
}

/// The largest of all ranks, in place.
void BlameRecorder::take_largest(std::vector<double>& numbers) const {
  for (std::size_t at = 0; at < numbers.size(); at += numbers_at_once)
    ranks_.allreduce_max(
        std::span(numbers).subspan(at, std::min(numbers_at_once, numbers.size() - at)));
}

std::vector<double> BlameRecorder::of_all(double (*number)(const Arrival&)) const {
  const auto ranks = static_cast<std::size_t>(ranks_.size());
  const auto self = static_cast<std::size_t>(ranks_.rank());
  std::vector<double> all(kept_.size() * ranks, std::numeric_limits<double>::lowest());
  for (std::size_t i = 0; i < kept_.size(); ++i) all[i * ranks + self] = number(kept_[i]);
  take_largest(all);
  return all;
}

void BlameRecorder::describe_ranks(Blame& blame) const {
  const std::vector<std::string> hosts = ranks_.allgather(ranks_.host());
  const std::vector<std::string> places = ranks_.allgather(
      blame.on_host
          ? fmt::format("processors {}", fmt::join(environment::allowed_processors(), ","))
          : device_);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    Blame::Rank& made = blame.ranks.emplace_back();
    made.rank = static_cast<int>(rank);
    made.host = hosts[rank];
    made.place = places[rank];
  }
}

void BlameRecorder::add_times(Blame& blame) const {
  Arrival sum;
  std::vector<double> runs, waits;  // waits are negative: the largest is the shortest
  for (const Arrival& arrival : kept_) {
    sum.input += arrival.input;
    sum.network += arrival.network;
    sum.processor += arrival.processor;
    sum.wait += arrival.wait;
    runs.push_back(arrival.run);
    waits.push_back(-arrival.wait);
  }
  for (std::vector<double>* const all : {&runs, &waits}) take_largest(*all);
  double compute = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    blame.seconds += runs[i];
    blame.network_s -= waits[i];
    compute += worked(kept_[i]) - kept_[i].input;
  }
  const auto set = [&](double mine, double Blame::Rank::*field) {
    const std::vector<double> all = all_numbers(mine, ranks_);
    for (std::size_t rank = 0; rank < all.size(); ++rank) blame.ranks[rank].*field = all[rank];
  };
  set(sum.input, &Blame::Rank::input_s);
  set(compute, &Blame::Rank::compute_s);
  set(sum.network, &Blame::Rank::network_s);
  set(sum.processor, &Blame::Rank::processor_s);
  set(sum.wait, &Blame::Rank::wait_s);
  const double part =
      seen_ == 0 ? 0 : static_cast<double>(kept_.size()) / static_cast<double>(seen_);
  const std::vector<double> ready = all_numbers(ready_ ? *ready_ * part : -1, ranks_);
  for (std::size_t rank = 0; rank < ready.size(); ++rank)
    if (ready[rank] >= 0) blame.ranks[rank].ready_s = ready[rank];
}

void BlameRecorder::add_links(Blame& blame) const {
  const std::optional<MeasuredLinks> measured = measure_links(ranks_);
  if (!measured) return;
  blame.links.emplace();
  blame.links->bytes = static_cast<double>(measured->bytes);
  blame.links->typical_s = measured->found.typical;
  for (const LinkFindings::Slow& slow : measured->found.slow)
    blame.links->slow.push_back({slow.name, slow.ratio});
}

Blame BlameRecorder::found() {
  Blame blame;
  constexpr double jumped = 1e300;
  const std::vector<double> errors = all_numbers(std::min(error_, jumped), ranks_);
  blame.clock_error_s = *std::ranges::max_element(errors);
  if (blame.clock_error_s == jumped) {
    blame.unsupported = "the clock of a rank has jumped";
    return blame;
  }
  blame.of = of_;
  blame.on_host = device_ == "cpu";
  blame.events = static_cast<double>(kept_.size());
  describe_ranks(blame);
  add_times(blame);
  if (!kept_.empty()) {
    const std::vector<double> arrivals = of_all([](const Arrival& of) { return of.at; });
    const std::vector<double> works = of_all(worked);
    set_costs({arrivals, works}, errors, blame);
  }
  if (blame.network_s >= least_network * blame.seconds) add_links(blame);
  judge(blame);
  return blame;
}

}  // namespace assay
