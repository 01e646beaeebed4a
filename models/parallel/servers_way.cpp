#include "models/parallel/servers_way.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "comm/layers/staged.hpp"
#include "core/base/error.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/parameters.hpp"
#include "models/network/training_texts.hpp"
#include "models/parallel/device_memory.hpp"
#include "models/parallel/stage_values.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr std::size_t checked_nodes = 4;  ///< in the pass of judge()
/// Largest loss scale of this pass: if gradients overflow, no result proves anything.
constexpr double scale_of_check = 8;
/// Largest number of gradients of parts in records that are not compared yet: about 30 MB.
constexpr std::int64_t most_entries = 200000;
constexpr double rounding_of_mean = 1e-12;
constexpr std::size_t told_staleness = 8;  ///< larger ones share one class of the histogram

std::string why_not_servers(const WayParts& parts) {
  const TrainingRun& run = parts.run;
  const std::string way = "--parallel " + to_text(run.parallel);
  if (!parts.ranks.has_tags())
    return way + " needs a transport whose messages have tags. Use the launcher's MPI.";
  if (run.trainer.accumulate > 1)
    return way + ": each gradient is an update. Use a larger --batch instead of --accumulate.";
  if (is_files(run.data.data))
    return way +
           ": files are read ahead in an order that is known before, and ranks take batches when "
           "they are ready. Use --data learnable or synthetic.";
  const bool serves = run.parallel.kind == WayKind::server;
  if (serves && run.parallel.number >= parts.ranks.size())
    return fmt::format("{} leaves no rank that trains ({} ranks). Use fewer servers.", way,
                       parts.ranks.size());
  if (const auto most = std::ssize(parts.whole.graph().parameters);
      serves && run.parallel.number > most)
    return fmt::format("{}: the network has {} parameters, and a server at least one. Use fewer.",
                       way, most);
  return "";
}

/// The part's gradients in the memory of the undivided network.
std::shared_ptr<void> gradient_memory(Trainer& whole, const WeightsPart& part) {
  const ValueIndex value = whole.graph().batch_gradients;
  const std::shared_ptr<void> all = whole.executor().memory(value);
  const std::size_t first =
      static_cast<std::size_t>(part.first) * size_of(whole.graph().value(value).type);
  return {all, static_cast<std::byte*>(all.get()) + first};
}

AsyncRoles assign_roles(const WayParts& parts) {
  const Parallel& way = parts.run.parallel;
  AsyncRoles roles;
  const bool apart = way.kind == WayKind::server;
  roles.workers = static_cast<int>(replicas(way, parts.ranks.size()));
  roles.first_server = apart ? roles.workers : 0;
  roles.parts = cut_weights(parts.whole.graph(), apart ? way.number : parts.ranks.size());
  if (way.kind == WayKind::stale) roles.bound = way.number;
  return roles;
}

}  // namespace

Result<std::unique_ptr<ParallelWay>> ServersWay::make(const WayParts& parts) {
  if (std::string why = why_not_servers(parts); !why.empty()) return Unsupported{std::move(why)};
  AsyncRoles roles = assign_roles(parts);
  using Update = std::unique_ptr<PartUpdate>;
  Result<Update> update = make_on_all<Update>(parts.ranks, [&]() -> Result<Update> {
    const int rank = parts.ranks.rank(), server = roles.find_server(rank);
    if (server < 0) return Update();
    const WeightsPart& part = roles.parts[static_cast<std::size_t>(server)];
    PartUpdate::Gradients gradients(static_cast<std::size_t>(roles.workers));
    if (rank < roles.workers)  // in the place where its own pass computes it
      gradients[static_cast<std::size_t>(rank)] = gradient_memory(parts.whole, part);
    return PartUpdate::make(parts.whole, part, parts.plugins, gradients);
  });
  if (auto* refusal = std::get_if<Unsupported>(&update)) return std::move(*refusal);
  if (std::string why = why_other_bits(parts, true); !why.empty())
    return Unsupported{std::move(why)};
  return std::unique_ptr<ParallelWay>(
      new ServersWay(parts, std::move(roles), std::move(std::get<Update>(update))));
}

ServersWay::ServersWay(const WayParts& parts, AsyncRoles roles, std::unique_ptr<PartUpdate> update)
    : parts_(parts),
      roles_(std::move(roles)),
      staged_(make_staged_for(parts.ranks, parts.whole.device())),
      update_(std::move(update)),
      pass_(parts),
      claims_(parts.run.claims ? std::optional<StepClaims>(std::in_place, *parts.run.claims,
                                                           parts.run.definition.input)
                               : std::nullopt),
      scale_(parts.run.trainer.loss_scale) {
  if (update_) server_ = std::make_unique<PartServer>(*update_, roles_, parts_.ranks, moves());
  if (works())
    worker_ =
        std::make_unique<PartWorker>(roles_, parts_.ranks, moves(), server_.get(),
                                     parts_.whole.device(), pass_.gradients(), pass_.weights());
}

void ServersWay::begin() {
  if (update_) update_->begin(parts_.whole);
  scale_ = LossScale(parts_.run.trainer.loss_scale);
  version_ = 0;
  check_records();
  staleness_ = {};
  updates_.assign(roles_.parts.size(), 0);
  if (server_) server_->set_version(0);
}

StepTotals ServersWay::make(const StepRange& steps) {
  Round round;
  round.steps = steps;
  round.claims = {roles_.workers, roles_.servers(),
                  std::vector<std::int64_t>(roles_.parts.size(), version_), steps.rates,
                  roles_.bound};
  round.record.sums_all = steps.judged;
  judged_.reset();
  parts_.ranks.barrier();
  if (server_) server_->begin(round.claims.tickets(), round.record);
  StepTotals done;
  if (works()) {
    worker_->begin(round.claims.versions, round.claims.tickets(), round.record);
    work(round, done);
    worker_->end();
  }
  while (server_ && !server_->over()) progress();
  if (worker_) worker_->finish();
  if (server_) server_->finish();
  version_ += round.claims.tickets();
  if (roles_.bound) {  // each server's last answer contains the gradients of all workers
    worker_->take_last();
    pass_.store();
  } else {
    share_weights();
  }
  double lost = scale_.has_diverged() || scale_.stuck() ? 1 : 0;
  parts_.ranks.allreduce_max(std::span(&lost, 1));
  if (lost > 0)
    throw WrongResult(
        why_diverged(scale_, "asynchronous steps")
            .value_or("training diverged on another rank: its gradients are not finite"));
  round.done = done;
  if (steps.judged) judged_ = round;
  entries_ += round.claims.tickets() * roles_.servers();
  unchecked_.push_back(std::move(round));
  if (entries_ > most_entries) check_records();  // on all ranks alike
  return done;
}

void ServersWay::progress() {
  if (server_) server_->serve();
  std::this_thread::yield();  // this rank may wait for a rank on the same processor
}

/// The steps of this rank.
void ServersWay::work(const Round& round, StepTotals& steps) {
  const std::int64_t first = round.steps.first * roles_.workers, before = pass_.runs();
  PassCalls calls;
  calls.after_node = [this] {
    if (server_) server_->serve();
  };
  calls.before_gradients = [this] {
    while (!worker_->have_left()) progress();
  };
  const auto judge_scale = [this] {
    while (const auto outcome = worker_->outcome()) scale_.update(outcome->finite, outcome->scale);
  };
  while (true) {
    while (!worker_->ready()) progress();
    judge_scale();
    const std::int64_t ticket = worker_->take();
    if (ticket < 0) break;
    pass_.store();
    GradientHead head;
    head.ticket = ticket;
    head.rate = round.claims.rate(ticket);
    head.scale = scale_.scale();
    steps.losses +=
        pass_.run({round.steps.epoch, first + ticket, parts_.ranks.rank(), head.scale}, calls);
    ++steps.batches;
    pass_.average_statistics(parts_.whole.running_statistics());
    worker_->send(head);
    calls.after_node();  // other ranks may wait for an answer that this gradient allows
  }
  while (!worker_->has_all_answers()) progress();
  judge_scale();
  steps.images = static_cast<double>((pass_.runs() - before) * parts_.run.trainer.batch);
  const Graph& graph = parts_.whole.graph();
  for (const GraphNode& node : graph.nodes)
    if (node.phase != Phase::update)
      steps.flops += static_cast<double>(pass_.runs() - before) * node.problem->flops();
}

/// The servers' weights, on all ranks.
void ServersWay::share_weights() {
  Stream& stream = parts_.whole.device().stream();
  const Buffer all = pass_.weights();
  for (int server = 0; server < roles_.servers(); ++server) {
    const WeightsPart& owned = roles_.parts[static_cast<std::size_t>(server)];
    const Buffer part = all.part(owned.first, owned.count);
    if (server == roles_.find_server(parts_.ranks.rank()))
      parts_.whole.device().copy(part.data, update_->weights(), part.bytes());
    moves().run({Collective::broadcast, {}, part, ReduceOp::sum, roles_.find_rank(server)}, stream);
  }
  stream.wait();
  pass_.store();
}

std::vector<double> ServersWay::broadcast_averages(int worker) {
  std::vector<double> averages = parts_.whole.running_statistics();
  if (!averages.empty())
    broadcast_bytes(std::as_writable_bytes(std::span(averages)), worker, parts_.ranks);
  return averages;
}

std::vector<std::uint64_t> ServersWay::gather_all(std::uint64_t own) const {
  std::vector<std::uint64_t> all;
  for (const auto& of_rank : allgather_lists(std::vector{own}, parts_.ranks))
    all.push_back(of_rank.at(0));
  return all;
}

/// Prepares the start of the replay.
void ServersWay::prepare_judge() {
  check_records();
  if (update_ && fault_.empty())
    if (const std::int64_t recorded =
            updates_.at(static_cast<std::size_t>(roles_.find_server(parts_.ranks.rank())));
        update_->updates() != recorded)
      fault_ = fmt::format("this server has made {} updates, its records say {}",
                           update_->updates(), recorded);
  begun_ = gather_states();
  averages_.clear();
  for (int worker = 0; worker < roles_.workers; ++worker) {
    std::vector<double> averages = broadcast_averages(worker);
    if (parts_.ranks.rank() == 0) averages_.push_back(std::move(averages));
  }
}

/// The states of all parts on rank 0; nothing on other ranks. Collective.
std::vector<PartState> ServersWay::gather_states() {
  const Graph& graph = parts_.whole.graph();
  const DataType type = graph.value(graph.weights).type;
  const std::size_t values = graph.second == Graph::none ? 2 : 3;
  const bool keeps = parts_.ranks.rank() == 0;
  std::vector<PartState> all;
  for (int server = 0; server < roles_.servers(); ++server) {
    const bool mine = server == roles_.find_server(parts_.ranks.rank());
    PartState state;
    for (std::size_t i = 0; i < values; ++i) {
      const std::int64_t count = roles_.parts[static_cast<std::size_t>(server)].count;
      std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(type));
      if (mine) bytes = read_bytes(update_->device(), update_->state().at(i));
      broadcast_bytes(bytes, roles_.find_rank(server), parts_.ranks);
      if (keeps) state.values.push_back(std::move(bytes));
    }
    state.updates = updates_.at(static_cast<std::size_t>(server));
    if (keeps) all.push_back(std::move(state));
  }
  return all;
}

/// Each worker has seen different samples, so all ranks use the mean of the workers' averages.
void ServersWay::gather() {
  check_records();
  const std::vector<std::byte> weights = read_bytes(parts_.whole.device(), pass_.weights());
  const std::vector<std::uint64_t> of_ranks = gather_all(checksum(weights.data(), weights.size()));
  if (fault_.empty() && std::ranges::count(of_ranks, of_ranks.front()) < std::ssize(of_ranks))
    fault_ = "the ranks have other weights than each other after the same steps";
  std::vector<double>& running = parts_.whole.running_statistics();
  std::vector<double> sums(running.size()), sizes(running.size());
  for (int worker = 0; worker < roles_.workers; ++worker) {
    const std::vector<double> averages = broadcast_averages(worker);
    for (std::size_t i = 0; i < averages.size(); ++i) {
      sums[i] += averages[i];
      sizes[i] += std::abs(averages[i]);
    }
  }
  if (!works()) std::fill(running.begin(), running.end(), 0);
  RankCalls(parts_.ranks).sum(running);
  for (double& value : running) value /= roles_.workers;
  for (std::size_t i = 0; i < running.size(); ++i)
    if (fault_.empty() &&
        !(std::abs(running[i] * roles_.workers - sums[i]) <= rounding_of_mean * sizes[i]))
      fault_ = "the moving averages of statistics are not the mean of the workers'";
  // Thrown here, because judge() may not follow.
  if (const std::string why = find_fault_of_any(fault_, parts_.ranks); !why.empty())
    throw WrongResult(why);
  // Passes have overwritten the loss scale.
  Trainer& whole = parts_.whole;
  whole.device().fill(whole.executor().tensor(whole.graph().loss_scale),
                      whole.loss_scale().scale());
}

/// Gathers and judges the records of all rounds since the last call.
void ServersWay::check_records() {
  for (Round& round : unchecked_) {
    const AsyncRecord all = AsyncRecord::gather_all(round.record, parts_.ranks);
    if (fault_.empty()) fault_ = find_fault_of_record(all, round.claims);
    if (!fault_.empty()) continue;
    staleness_.add(all, round.claims);  // it trusts the numbers of the record
    for (const AppliedGradient& gradient : all.applied)
      updates_.at(static_cast<std::size_t>(gradient.server)) += gradient.finite;
  }
  unchecked_.clear();
  entries_ = 0;
  if (fault_.empty()) fault_ = pass_.fault();
}

void ServersWay::judge(Verification& verification) {
  check_records();
  verification.fail(fault_);
  if (!judged_) return verification.fail("no steps were kept to be judged");
  judged_->record = AsyncRecord::gather_all(judged_->record, parts_.ranks);
  double sums[] = {judged_->done.losses, judged_->done.batches};
  RankCalls(parts_.ranks).sum(sums);
  judged_->done.losses = sums[0];
  if (const auto batches = static_cast<double>(judged_->claims.tickets()); sums[1] != batches)
    verification.fail(
        fmt::format("the losses of {} batches were counted, not of {}", sums[1], batches));
  const std::vector<double>& running = parts_.whole.running_statistics();
  const std::vector<std::uint64_t> averages =
      gather_all(checksum(running.data(), running.size() * sizeof(double)));
  const std::vector<std::uint64_t> states = gather_all(update_ ? update_->state_sum() : 0);
  double faulty = fault_.empty() ? 0 : 1;  // a faulty record may name things that do not exist
  parts_.ranks.allreduce_max(std::span(&faulty, 1));
  throw_on_all(parts_.ranks, [&] {
    if (faulty == 0 && parts_.ranks.rank() == 0) replay(averages, states, verification);
    if (works()) check_pass(verification);
  });
  judged_.reset();
}

void ServersWay::replay(const std::vector<std::uint64_t>& averages,
                        const std::vector<std::uint64_t>& states, Verification& verification) {
  const std::vector<std::byte> left = read_bytes(parts_.whole.device(), pass_.weights());
  const std::vector<std::uint64_t> of_servers(states.begin() + roles_.first_server, states.end());
  verification.fail(
      replay_fault({judged_->record, judged_->claims, roles_.parts, begun_, left, of_servers,
                    judged_->steps.epoch, judged_->steps.first * roles_.workers, averages_,
                    averages, judged_->done.losses, claims_ ? &*claims_ : nullptr},
                   pass_, parts_.whole, parts_.plugins, verification));
  write_bytes(parts_.whole.device(), pass_.weights(), left.data());
  pass_.store();
}

/// Some operations of a pass, on a batch of the judged steps.
void ServersWay::check_pass(Verification& verification) {
  const std::int64_t rank = parts_.ranks.rank(),
                     batch = judged_->steps.first * roles_.workers + rank;
  std::mt19937_64 random(parts_.run.trainer.seed + static_cast<std::uint64_t>(batch));
  StepCheck check = random_check(parts_.whole.graph(), checked_nodes, random());
  parts_.whole.executor().poison();
  pass_.run({judged_->steps.epoch, batch, rank, std::min(scale_.scale(), scale_of_check)}, {},
            &check);
  verification.checked += check.verification.checked;
  verification.wrong_elements += check.verification.wrong_elements;
  verification.fail(check.verification.reason);
}

std::map<std::string, Metric> ServersWay::metrics() {
  check_records();
  const Staleness& staleness = staleness_;
  std::map<std::string, Metric> all;
  double sum = 0, most = 0, updates = 0;
  for (std::size_t i = 0; i < staleness.counts.size(); ++i) {
    sum += staleness.counts[i] * static_cast<double>(i);
    updates += staleness.counts[i];
    if (staleness.counts[i] > 0) most = static_cast<double>(i);
    const bool last = i >= told_staleness;
    all[last ? fmt::format("gradients_of_staleness_{}_or_more", told_staleness)
             : fmt::format("gradients_of_staleness_{}", i)]
        .value += staleness.counts[i];
  }
  all["staleness_mean"] = {updates > 0 ? sum / updates : 0, "", "lower"};
  all["staleness_max"] = {most, "", "lower"};
  all["updates_of_parts"] = {staleness.updates, "", ""};
  all["gradients_lost"] = {staleness.lost, "", "lower"};
  const auto [least, largest] = std::minmax_element(staleness.steps.begin(), staleness.steps.end());
  if (least != staleness.steps.end()) {
    all["steps_of_slowest_worker"] = {*least, "", ""};
    all["steps_of_fastest_worker"] = {*largest, "", ""};
  }
  all["largest_lead_steps"] = {staleness.lead, "", ""};
  return all;
}

std::string ServersWay::reference() const {
  return fmt::format(
      "records of all asynchronous steps, and a serial replay of {} of each worker in each audit "
      "and epoch: weights, moments and moving averages bit by bit, and losses",
      steps_of_run(parts_.run.parallel));
}

std::string ServersWay::implementation() const {
  return fmt::format("weights in {} parts on ranks {} to {}{}", roles_.servers(),
                     roles_.first_server, roles_.first_server + roles_.servers() - 1,
                     staged_ ? std::string(", ") + staged_words : "");
}

Result<std::unique_ptr<ParallelWay>> make_servers_way(const WayParts& parts) {
  return ServersWay::make(parts);
}

}  // namespace assay
