#include "models/parallel/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/measure/agreement.hpp"

namespace assay {
namespace {

template <class Entry>
std::vector<Entry> of_all(const std::vector<Entry>& own, Communicator& ranks) {
  std::vector<Entry> all;
  for (const std::vector<Entry>& list : allgather_lists(own, ranks))
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::string make_name(const AppliedGradient& gradient) {
  return fmt::format("the gradient of step {} of worker {}", gradient.step, gradient.worker);
}

/// Compares one record; each function returns its first fault.
class RecordCheck {
 public:
  RecordCheck(const AsyncRecord& record, const AsyncClaims& claims)
      : record_(record), claims_(claims) {}

  std::string fault() {
    for (const auto check : {&RecordCheck::of_batches, &RecordCheck::of_reads,
                             &RecordCheck::of_updates, &RecordCheck::of_bound})
      if (std::string why = (this->*check)(); !why.empty()) return why;
    return "";
  }

 private:
  using OfStep = std::pair<std::int64_t, std::int64_t>;                 // worker, step
  using OfPart = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // server, worker, step

  /// Also finds the steps of each worker.
  std::string of_batches() {
    std::vector<int> times(static_cast<std::size_t>(claims_.tickets()));
    for (const StepTicket& taken : record_.taken) {
      if (taken.worker < 0 || taken.worker >= claims_.workers || taken.ticket < 0 ||
          taken.ticket >= claims_.tickets())
        return fmt::format("worker {} has taken batch {} of {}", taken.worker, taken.ticket,
                           claims_.tickets());
      if (std::int64_t& next = steps_[taken.worker]; taken.step != next++)
        return fmt::format("worker {} has made step {} where step {} follows", taken.worker,
                           taken.step, next - 1);
      ++times[static_cast<std::size_t>(taken.ticket)];
      ticket_[{taken.worker, taken.step}] = taken.ticket;
    }
    for (std::size_t i = 0; i < times.size(); ++i)
      if (times[i] != 1) return fmt::format("batch {} was taken {} times", i, times[i]);
    return "";
  }

  std::string of_reads() {
    std::set<OfPart> sent;                                                // server, worker, version
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> sums;  // of versions
    const auto is_server = [this](std::int64_t server) {
      return server >= 0 && server < claims_.servers;
    };
    for (const ReadPart& part : record_.sent) {
      if (!is_server(part.server)) return fmt::format("a server {} has sent weights", part.server);
      sent.insert({part.server, part.worker, part.version});
      const auto [known, is_new] =
          sums.emplace(std::pair{part.server, part.version}, part.checksum);
      if (!is_new && known->second != part.checksum)
        return fmt::format("server {} has sent version {} with different weights", part.server,
                           part.version);
    }
    for (const ReadPart& part : record_.received) {
      if (!is_server(part.server)) return fmt::format("a server {} was read", part.server);
      // All ranks have the weights before the first update without a message.
      const bool begun = part.version == claims_.versions.at(static_cast<std::size_t>(part.server));
      if (!begun && !sent.contains({part.server, part.worker, part.version}))
        return fmt::format(
            "worker {} has begun step {} with version {} of server {}, which was not sent to it",
            part.worker, part.step, part.version, part.server);
      if (sums.emplace(std::pair{part.server, part.version}, part.checksum).first->second !=
          part.checksum)
        return fmt::format(
            "worker {} has begun step {} with other weights than version {} of server {}",
            part.worker, part.step, part.version, part.server);
      if (!reads_.emplace(OfPart{part.server, part.worker, part.step}, part.version).second)
        return fmt::format("worker {} has begun step {} with the weights of server {} twice",
                           part.worker, part.step, part.server);
    }
    return "";
  }

  std::string of_updates() {
    std::vector<std::int64_t> version = claims_.versions;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> next;  // server, worker
    for (const AppliedGradient& gradient : record_.applied) {
      if (gradient.server < 0 || gradient.server >= claims_.servers)
        return fmt::format("a server {} has applied a gradient", gradient.server);
      std::int64_t& now = version[static_cast<std::size_t>(gradient.server)];
      if (gradient.version != ++now)
        return fmt::format("server {} has made version {} by {}, where {} follows", gradient.server,
                           gradient.version, make_name(gradient), now);
      if (const std::int64_t step = next[{gradient.server, gradient.worker}]++;
          gradient.step != step)
        return fmt::format("server {} has applied {}, where step {} follows", gradient.server,
                           make_name(gradient), step);
      const auto read = reads_.find({gradient.server, gradient.worker, gradient.step});
      if (read == reads_.end() || read->second != gradient.base ||
          gradient.base >= gradient.version)
        return fmt::format(
            "server {} has applied {} as one of version {}, which the worker did not "
            "have",
            gradient.server, make_name(gradient), gradient.base);
      const auto ticket = ticket_.find({gradient.worker, gradient.step});
      if (ticket == ticket_.end())
        return fmt::format("server {} has applied {}, which the worker did not make",
                           gradient.server, make_name(gradient));
      if (gradient.rate != claims_.rate(ticket->second))
        return fmt::format("server {} has applied {} with the rate {}, not {}", gradient.server,
                           make_name(gradient), gradient.rate, claims_.rate(ticket->second));
      writes_[{gradient.server, gradient.worker, gradient.step}] = gradient.version;
    }
    for (std::int64_t server = 0; server < claims_.servers; ++server)
      for (const auto& [worker, steps] : steps_)
        if (const std::int64_t has = next[{server, worker}]; has != steps)
          return fmt::format("server {} has applied {} gradients of worker {}, which made {}",
                             server, has, worker, steps);
    return "";
  }

  /// The weights that a worker reads must contain its own last gradient; with a bound, also the
  /// gradients of all workers up to the step that the bound requires.
  std::string of_bound() {
    for (const auto& [read, version] : reads_) {
      const auto& [server, worker, step] = read;
      for (const auto& [other, steps] : steps_) {
        if (other != worker && !claims_.bound) continue;
        const std::int64_t least = step - claims_.bound.value_or(0) - 1;
        if (least < 0 || least >= steps) continue;
        if (const std::int64_t version_with_gradient = writes_.at({server, other, least});
            version_with_gradient > version)
          return fmt::format(
              "worker {} has begun step {} with version {} of server {}, which lacks the gradient "
              "of "
              "step {} of worker {} (version {})",
              worker, step, version, server, least, other, version_with_gradient);
      }
    }
    return "";
  }

  const AsyncRecord& record_;
  const AsyncClaims& claims_;
  std::map<std::int64_t, std::int64_t> steps_;  ///< number of steps by worker
  std::map<OfStep, std::int64_t> ticket_;
  std::map<OfPart, std::int64_t> reads_, writes_;  ///< versions
};

}  // namespace

double AsyncClaims::rate(std::int64_t ticket) const {
  return rates[static_cast<std::size_t>(ticket / workers)] / static_cast<double>(workers);
}

AsyncRecord AsyncRecord::gather_all(const AsyncRecord& own, Communicator& ranks) {
  return {true, of_all(own.applied, ranks), of_all(own.sent, ranks), of_all(own.received, ranks),
          of_all(own.taken, ranks)};
}

std::string find_fault_of_record(const AsyncRecord& record, const AsyncClaims& claims) {
  return RecordCheck(record, claims).fault();
}

void Staleness::add(const AsyncRecord& record, const AsyncClaims& claims) {
  std::set<std::pair<std::int64_t, std::int64_t>> skipped;
  std::map<std::int64_t, std::vector<double>> seen;  // by server: steps of each worker
  for (const AppliedGradient& gradient : record.applied) {
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(gradient.staleness(), 0));
    if (at >= counts.size()) counts.resize(at + 1);
    ++counts[at];
    ++updates;
    if (gradient.finite == 0) skipped.insert({gradient.worker, gradient.step});
    std::vector<double>& of_server = seen[gradient.server];
    of_server.resize(static_cast<std::size_t>(claims.workers));
    ++of_server[static_cast<std::size_t>(gradient.worker)];
    const auto [slowest, fastest] = std::minmax_element(of_server.begin(), of_server.end());
    lead = std::max(lead, *fastest - *slowest);
  }
  lost += static_cast<double>(skipped.size());
  steps.resize(static_cast<std::size_t>(claims.workers));
  for (const StepTicket& taken : record.taken) ++steps[static_cast<std::size_t>(taken.worker)];
}

}  // namespace assay
