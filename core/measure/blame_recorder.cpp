#include "core/measure/blame_recorder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "core/machine/contention.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/links.hpp"

namespace assay {
namespace {

constexpr std::size_t most_events = std::size_t{1} << 16, most_numbers = std::size_t{1} << 20;
/// Numbers that the ranks exchange at a time.
constexpr std::size_t numbers_at_once = std::size_t{1} << 16;

/// Seconds of input and computing; `at` must be without communication.
double working_seconds(const Arrival& arrival) { return arrival.at - arrival.begun; }

}  // namespace

void ThinnedRuns::add(const Arrival& arrival) {
  if (arrival.run > 0) {
    if (kept_.size() >= most_) thin();
    ++seen_;
  }
  if (seen_ > 0 && (seen_ - 1) % stride_ == 0) kept_.push_back(arrival);
}

/// Drops every second run of the kept ones.
void ThinnedRuns::thin() {
  std::size_t runs = 0, end = 0;
  for (const Arrival& arrival : kept_) {
    if (arrival.run > 0) ++runs;
    if (runs % 2 == 1) kept_[end++] = arrival;
  }
  kept_.resize(end);
  stride_ *= 2;
}

BlameRecorder::BlameRecorder(Communicator& ranks, RecordedJob job)
    : ranks_(ranks),
      job_(std::move(job)),
      runs_(std::clamp(most_numbers / static_cast<std::size_t>(ranks.size()),
                       std::size_t{4} * least_events, most_events)) {}

void BlameRecorder::begin() {
  before_ = measure_clock_offset(ranks_);
  ready_before_ = contention().waiting;
}

void BlameRecorder::end(const std::vector<Arrival>& arrivals) {
  const std::optional<double> ready = contention().waiting;
  if (ready && ready_before_ && ready_)
    *ready_ += std::max(0.0, *ready - *ready_before_);
  else
    ready_.reset();
  const ClockOffset after = measure_clock_offset(ranks_);
  error_ = std::max(error_, alignment_error(before_, after));
  for (Arrival arrival : arrivals) {
    // Time in earlier communication is subtracted, because the rank may have waited there for
    // another rank.
    arrival.at = align(arrival.at, before_, after) - arrival.network;
    arrival.begun = align(arrival.begun, before_, after);
    runs_.add(arrival);
  }
}

/// Replaces each number by the largest of all ranks.
void BlameRecorder::take_largest(std::vector<double>& numbers) const {
  for (std::size_t at = 0; at < numbers.size(); at += numbers_at_once)
    ranks_.allreduce_max(
        std::span(numbers).subspan(at, std::min(numbers_at_once, numbers.size() - at)));
}

std::vector<double> BlameRecorder::of_all(double (*number)(const Arrival&)) const {
  const auto ranks = static_cast<std::size_t>(ranks_.size());
  const auto self = static_cast<std::size_t>(ranks_.rank());
  const std::vector<Arrival>& kept = runs_.kept();
  std::vector<double> all(kept.size() * ranks, std::numeric_limits<double>::lowest());
  for (std::size_t i = 0; i < kept.size(); ++i) all[i * ranks + self] = number(kept[i]);
  take_largest(all);
  return all;
}

void BlameRecorder::describe_ranks(Blame& blame) const {
  const std::vector<std::string> hosts = ranks_.allgather(ranks_.host());
  const std::vector<std::string> places = ranks_.allgather(
      blame.on_host
          ? fmt::format("processors {}", fmt::join(environment::list_allowed_processors(), ","))
          : job_.device);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    Blame::Rank& description = blame.ranks.emplace_back();
    description.rank = static_cast<int>(rank);
    description.host = hosts[rank];
    description.place = places[rank];
  }
}

void BlameRecorder::add_times(Blame& blame) const {
  Arrival sum;
  double compute = 0;
  std::vector<double> runs, waits;  // waits are negative: the largest is the shortest
  for (const Arrival& arrival : runs_.kept()) {
    compute += working_seconds(arrival) - arrival.input;
    sum.input += arrival.input;
    sum.network += arrival.network;
    sum.processor += arrival.processor;
    sum.wait += arrival.wait;
    runs.push_back(arrival.run);
    waits.push_back(-arrival.wait);
  }
  for (std::vector<double>* const all : {&runs, &waits}) take_largest(*all);
  for (const double run : runs) blame.seconds += run;
  for (const double wait : waits) blame.network_s -= wait;
  const auto set = [&](double mine, double Blame::Rank::*field) {
    const std::vector<double> all = allgather_numbers(mine, ranks_);
    for (std::size_t rank = 0; rank < all.size(); ++rank) blame.ranks[rank].*field = all[rank];
  };
  set(sum.input, &Blame::Rank::input_s);
  set(compute, &Blame::Rank::compute_s);
  set(sum.network, &Blame::Rank::network_s);
  set(sum.processor, &Blame::Rank::processor_s);
  set(sum.wait, &Blame::Rank::wait_s);
  const std::vector<double> ready = allgather_numbers(ready_ ? *ready_ * runs_.part() : -1, ranks_);
  for (std::size_t rank = 0; rank < ready.size(); ++rank)
    if (ready[rank] >= 0) blame.ranks[rank].ready_s = ready[rank];
}

/// The links between hosts, if collectives take time there.
std::optional<Blame::Links> BlameRecorder::links(const Blame& blame) const {
  std::set<std::string> hosts;
  for (const Blame::Rank& rank : blame.ranks) hosts.insert(rank.host);
  if (hosts.size() < 2 || blame.network_s < least_network * blame.seconds) return std::nullopt;
  Blame::Links links;
  const JobNetwork& network = job_.network;
  links.unsupported = network.unsupported;
  if (links.unsupported.empty() && hosts.size() < least_ends)
    links.unsupported =
        fmt::format("only messages of at least {} hosts can show which link is slow", least_ends);
  if (!links.unsupported.empty()) return links;
  const std::optional<MeasuredLinks> measured =
      measure_links(ranks_, network.ranks == nullptr ? ranks_ : *network.ranks);
  if (!measured) return std::nullopt;
  links.network = network.name;
  links.bytes = static_cast<double>(measured->bytes);
  links.typical_s = measured->findings.typical;
  for (const LinkFindings::Slow& slow : measured->findings.slow)
    links.slow.push_back({slow.name, slow.ratio});
  return links;
}

Blame BlameRecorder::make_blame() {
  Blame blame;
  constexpr double jumped = 1e300;
  const std::vector<double> errors = allgather_numbers(std::min(error_, jumped), ranks_);
  blame.clock_error_s = *std::ranges::max_element(errors);
  if (blame.clock_error_s == jumped) {
    blame.unsupported = "the clock of a rank has jumped";
    return blame;
  }
  blame.period = job_.period;
  blame.on_host = job_.device.empty();
  blame.events = static_cast<double>(runs_.kept().size());
  blame.runs = static_cast<double>(runs_.runs());
  describe_ranks(blame);
  add_times(blame);
  if (!runs_.kept().empty()) {
    const std::vector<double> arrivals = of_all([](const Arrival& arrival) { return arrival.at; });
    const std::vector<double> works = of_all(working_seconds);
    set_costs({arrivals, works}, errors, blame);
  }
  if (!std::ranges::all_of(blame.ranks,
                           [&](const Blame::Rank& rank) { return others_waited(blame, rank); })) {
    Blame none;
    none.clock_error_s = blame.clock_error_s;
    none.unsupported = "when the ranks came contradicts for how long they worked and waited";
    return none;
  }
  blame.links = links(blame);
  judge(blame);
  return blame;
}

}  // namespace assay
