#include "models/parallel/replay.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "core/base/error.hpp"
#include "models/parallel/claimed_part.hpp"
#include "models/parallel/device_memory.hpp"

namespace assay {
namespace {

using Bytes = std::vector<std::byte>;

constexpr double rounding_of_sum = 1e-12;

/// A server: its update, the gradients that it has applied, and the versions that later steps need.
struct ReplayedServer {
  std::unique_ptr<PartUpdate> update;
  std::vector<AppliedGradient> log;
  std::size_t next = 0;
  std::int64_t version = 0;
  bool checked = false;                          ///< an update was compared with its oracle
  std::map<std::int64_t, std::int64_t> readers;  ///< by version: steps that still need it
  std::map<std::int64_t, Bytes> versions;
  std::map<std::int64_t, std::uint64_t> sent;  ///< checksums by version
  std::string fault{};                         ///< of the first version that differs
};

class Replay {
 public:
  Replay(const ReplayInput& input, GradientPass& pass, Trainer& whole, Plugins& plugins,
         Verification& verification)
      : input_(input),
        pass_(pass),
        whole_(whole),
        verification_(verification),
        averages_(input.averages) {
    for (std::size_t s = 0; s < input_.parts.size(); ++s) add_server(s, plugins);
    for (const ReadPart& part : input_.record.received) {
      servers_[static_cast<std::size_t>(part.server)].readers[part.version] += 1;
      reads_[{part.worker, part.step}].push_back(part);
    }
    for (const ReadPart& part : input_.record.sent)
      servers_[static_cast<std::size_t>(part.server)].sent[part.version] = part.checksum;
    for (const AppliedGradient& gradient : input_.record.applied)
      servers_[static_cast<std::size_t>(gradient.server)].log.push_back(gradient);
    for (const StepTicket& step : input_.record.taken)
      tickets_[{step.worker, step.step}] = step.ticket;
    for (ReplayedServer& server : servers_) keep(server);
  }

  std::string fault() {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (ReplayedServer& server : servers_)
        while (server.next < server.log.size() && apply_next(server)) advanced = true;
    }
    for (std::size_t s = 0; s < servers_.size(); ++s)
      if (const ReplayedServer& server = servers_[s]; server.next < server.log.size())
        return fmt::format("update {} of server {} has a gradient of weights that come after it",
                           server.log[server.next].version, s);
    for (std::size_t s = 0; s < servers_.size(); ++s)
      if (std::string why = difference(s); !why.empty()) return why;
    return difference_of_passes();
  }

 private:
  using OfStep = std::pair<std::int64_t, std::int64_t>;  // worker, step
  struct Gradient {
    Bytes all;
    std::size_t uses = 0;  ///< number of servers that have used it
  };

  void add_server(std::size_t s, Plugins& plugins) {
    auto part_update = PartUpdate::make(whole_, input_.parts[s], plugins);
    if (const auto* const refusal = std::get_if<Unsupported>(&part_update))
      throw CaseError("nothing makes an update again: " + refusal->reason);
    ReplayedServer server;
    server.update = std::move(std::get<std::unique_ptr<PartUpdate>>(part_update));
    server.version = input_.claims.versions[s];
    const PartState& begun = input_.begun[s];
    const std::vector<Buffer> state = server.update->state();
    for (std::size_t i = 0; i < state.size(); ++i)
      write_bytes(server.update->device(), state[i], begun.values.at(i).data());
    server.update->updates() = begun.updates;
    servers_.push_back(std::move(server));
  }

  static Bytes read_weights(const ReplayedServer& server) {
    return read_bytes(server.update->device(), server.update->state().front());
  }

  /// Keeps the current version if a step reads it.
  static void keep(ReplayedServer& server) {
    if (!server.readers.contains(server.version)) return;
    server.versions[server.version] = read_weights(server);
  }

  /// Makes the server's next update if its gradient exists or can be computed. True if it was made.
  bool apply_next(ReplayedServer& server) {
    const AppliedGradient& next = server.log[server.next];
    Gradient* const gradient = compute_gradient({next.worker, next.step}, next.scale);
    if (gradient == nullptr) return false;
    // Checks one update in the middle. Skipped updates leave nothing to compare.
    const bool checked =
        !server.checked && server.next >= server.log.size() / 2 && next.finite != 0;
    server.checked = server.checked || checked;
    const PartValues before = checked ? PartValues::read(*server.update) : PartValues();
    const Buffer to = server.update->gradient(0);
    write_bytes(server.update->device(), to,
                gradient->all.data() + server.update->element(server.update->part().first));
    const bool finite =
        server.update->apply(0, next.rate, next.scale, checked ? &verification_ : nullptr,
                             static_cast<std::uint64_t>(next.version));
    if (checked && input_.step != nullptr) compare_with_claims(server, next, *gradient, before);
    server.version = next.version;
    ++server.next;
    if (finite != (next.finite != 0) && server.fault.empty())
      server.fault = describe_fault(next, finite ? "was skipped, but is finite" : "is not finite");
    if (const auto sent = server.sent.find(next.version); server.fault.empty() &&
                                                          sent != server.sent.end() &&
                                                          sent->second != checksum_weights(server))
      server.fault = describe_fault(next, "has made other weights");
    keep(server);
    if (++gradient->uses == servers_.size()) gradients_.erase({next.worker, next.step});
    return true;
  }

  static std::uint64_t checksum_weights(const ReplayedServer& server) {
    const Bytes all = read_weights(server);
    return checksum(all.data(), all.size());
  }

  void compare_with_claims(const ReplayedServer& server, const AppliedGradient& applied,
                           const Gradient& gradient, const PartValues& before) {
    const Graph& graph = whole_.graph();
    std::vector<double> values(static_cast<std::size_t>(graph.elements(graph.weights)));
    decode(graph.value(graph.weights).type, gradient.all.data(), values);
    const std::int64_t step = tickets_.at({applied.worker, applied.step}) / input_.claims.workers;
    const double rate = input_.claims.rates.at(static_cast<std::size_t>(step));
    const std::string why =
        find_fault_of_update({*input_.step, graph, server.update->part(),
                              rate / static_cast<double>(input_.claims.workers), applied.scale,
                              server.update->updates(), values},
                             before, PartValues::read(*server.update), verification_.checked);
    if (!why.empty()) verification_.fail("after an update by one server, " + why);
  }

  static std::string describe_fault(const AppliedGradient& gradient, const std::string& what) {
    return fmt::format("its update {} (the gradient of step {} of worker {}) {}", gradient.version,
                       gradient.step, gradient.worker, what);
  }

  /// nullptr if a version that the gradient needs does not exist yet.
  Gradient* compute_gradient(const OfStep& step, double scale) {
    if (const auto known = gradients_.find(step); known != gradients_.end()) return &known->second;
    const std::vector<ReadPart>& reads = reads_[step];
    for (const ReadPart& read : reads)
      if (!servers_[static_cast<std::size_t>(read.server)].versions.contains(read.version))
        return nullptr;
    for (const ReadPart& read : reads) {
      ReplayedServer& server = servers_[static_cast<std::size_t>(read.server)];
      const Bytes& version = server.versions.at(read.version);
      const WeightsPart& part = server.update->part();
      write_bytes(whole_.device(), pass_.weights().part(part.first, part.count), version.data());
      if (--server.readers[read.version] == 0) server.versions.erase(read.version);
    }
    pass_.store();
    losses_ += pass_.run({input_.epoch, input_.first_batch + tickets_.at(step), step.first, scale});
    // The averages of each worker are in its order, because servers apply its gradients in this
    // order.
    pass_.average_statistics(averages_.at(static_cast<std::size_t>(step.first)));
    Gradient& gradient = gradients_[step];
    gradient.all = read_bytes(whole_.device(), pass_.gradients());
    return &gradient;
  }

  /// Compares the weights after the last update with those after the original steps.
  std::string difference(std::size_t s) const {
    const ReplayedServer& server = servers_[s];
    const std::size_t first = server.update->element(server.update->part().first);
    const Bytes mine = read_weights(server);
    const Graph& graph = whole_.graph();
    for (const Parameter& parameter : graph.parameters) {
      const std::size_t at = server.update->element(parameter.offset),
                        bytes = server.update->element(parameter.elements());
      if (at < first || at >= first + server.update->bytes()) continue;
      verification_.checked += parameter.elements();
      if (std::memcmp(mine.data() + at - first, input_.weights.data() + at, bytes) != 0)
        return fmt::format(
            "a serial replay of the updates leaves another {} on server {}; {}", parameter.name, s,
            server.fault.empty() ? "each update before the last read is right" : server.fault);
    }
    if (server.fault.empty() && server.update->state_sum() != input_.states_left[s])
      return fmt::format(
          "a serial replay of the updates leaves other moments or another count of updates on "
          "server {}",
          s);
    if (server.fault.empty()) return "";
    return fmt::format("a serial replay of the updates differs on server {}: {}", s, server.fault);
  }

  /// Compares the other results of the passes (averages and losses) with those of the original
  /// steps.
  std::string difference_of_passes() const {
    for (std::size_t worker = 0; worker < averages_.size(); ++worker) {
      const std::vector<double>& averages = averages_[worker];
      verification_.checked += std::ssize(averages);
      if (checksum(averages.data(), averages.size() * sizeof(double)) !=
          input_.averages_left.at(worker))
        return fmt::format(
            "a serial replay of the steps leaves other moving averages of statistics on worker {}",
            worker);
    }
    // The two sums may differ only by rounding, since their order differs. A sum that is not finite
    // is judged where it is reported.
    if (std::abs(losses_ - input_.losses) <= rounding_of_sum * std::abs(losses_) ||
        (!std::isfinite(losses_) && !std::isfinite(input_.losses)))
      return "";
    return fmt::format("the losses of the steps have the sum {}, those of a serial replay {}",
                       input_.losses, losses_);
  }

  const ReplayInput& input_;
  GradientPass& pass_;
  Trainer& whole_;
  Verification& verification_;
  std::vector<ReplayedServer> servers_;
  std::map<OfStep, std::vector<ReadPart>> reads_;
  std::map<OfStep, std::int64_t> tickets_;
  std::map<OfStep, Gradient> gradients_;
  std::vector<std::vector<double>> averages_;  ///< by worker
  double losses_ = 0;
};

}  // namespace

std::string replay_fault(const ReplayInput& input, GradientPass& pass, Trainer& whole,
                         Plugins& plugins, Verification& verification) {
  return Replay(input, pass, whole, plugins, verification).fault();
}

}  // namespace assay
