#include "comm/joined.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>

#include "comm/algorithms/algorithm.hpp"
#include "comm/beside.hpp"
#include "comm/bisection.hpp"
#include "comm/collective_operation.hpp"
#include "comm/collectives_benchmark.hpp"
#include "comm/layers/layers.hpp"
#include "comm/layers/staged.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "core/measure/agreement.hpp"

namespace assay {
namespace {

/// Agrees on a step that a single rank may refuse. A refusal by all ranks means unsupported; a
/// refusal by some is an error, of which all ranks must know before the next collective call.
std::optional<Unsupported> agreed(const std::string& mine, Communicator& ranks) {
  const Agreement refusals(mine, ranks);
  if (refusals.all()) return Unsupported{mine};
  if (refusals.none()) return std::nullopt;
  throw CaseError(fmt::format("{} cannot take part, unlike other ranks ({}).", refusals.place(),
                              refusals.text()));
}

template <class T>
std::string find_reason(const Result<T>& result) {
  const auto* refusal = std::get_if<Unsupported>(&result);
  return refusal == nullptr ? "" : refusal->reason;
}

/// Runs a step on all ranks. If it throws on one rank, it throws on all.
template <class T, class Step>
Result<T> together(Communicator& ranks, const Step& step) {
  std::string thrown;
  Result<T> result = Unsupported{""};
  try {
    result = step();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    thrown = error.what();
  }
  const Agreement failures(thrown, ranks);
  if (!failures.none())
    throw CaseError(ranks.size() == 1
                        ? failures.text()
                        : fmt::format("rank {}: {}", failures.rank(), failures.text()));
  if (auto refusal = agreed(find_reason(result), ranks)) return std::move(*refusal);
  return result;
}

const AlgorithmEntry& find_entry(const std::string& name) {
  const auto& all = algorithms();
  return *std::find_if(all.begin(), all.end(),
                       [&](const AlgorithmEntry& entry) { return entry.name == name; });
}

bool on_gpu(const Options& options) { return options.get("device", "cpu") != "cpu"; }
/// gpu_transport then selects the GPU of each rank.
bool is_staged(const Options& options) {
  return on_gpu(options) && options.get("transport", "") != gpu_transport;
}
/// True if no library below the algorithm reads GPU memory: then the whole algorithm runs on the
/// host and its buffers are staged.
bool all_staged(const Options& options) {
  return is_staged(options) && options.get("inside", "same") != gpu_transport;
}
Options on_host(Options options) {
  options.settings["device"] = "cpu";
  return options;
}

/// Page-locked memory cannot be swapped out: allocating more than is available would harm the whole
/// host. Each rank stages its send and receive buffer; in a hybrid, the ranks of a node together
/// stage one message, in place.
void expect_room_to_stage(const CollectiveProblem& problem, const Options& options,
                          const CaseContext& context) {
  double need = 0;
  for (const TensorSpec& spec : problem.tensors(context.ranks.rank() % problem.shape().ranks))
    need += static_cast<double>(spec.elements()) * static_cast<double>(size_of(spec.type));
  need = all_staged(options) ? need * context.ranks_here : problem.bytes();
  const auto available = static_cast<double>(memory_available());
  if (need > available)
    throw CaseError(
        fmt::format("staging needs {:.3g} GiB of this host's memory, page-locked, but {:.3g} GiB "
                    "are available. Use a smaller problem or --transport nccl.",
                    need / (1 << 30), available / (1 << 30)));
}

/// Why the settings cannot be combined, or empty: layers and replacements of NCCL inside a node
/// access data in host memory, and layers send from buffers of their own.
std::string why_not_together(const CollectiveSettings& settings, const Options& options) {
  const std::string intra_node = options.get("inside", "same"), wire = options.get("wire", "none");
  if (on_gpu(options)) {
    if (settings.registered) return "registered buffers are host memory. Use --device cpu.";
    if (wire != "none") return "--wire converts data on the host. Use --device cpu.";
    if (options.get("fusion", "0") != "0")
      return "--fusion combines data on the host. Use --device cpu.";
    if (intra_node != "same" && intra_node != gpu_transport && !all_staged(options))
      return intra_node + " reads host memory (--intra-node). Use --device cpu.";
  }
  if (settings.registered && wire != "none")
    return "--wire sends from its own buffers. Use --buffers ordinary.";
  if (settings.registered && options.get("fusion", "0") != "0")
    return "--fusion sends from its own buffers. Use --buffers ordinary.";
  if (settings.registered && intra_node != "same")
    return "buffers are registered with the transport, not with " + intra_node +
           " (--intra-node). Use --buffers ordinary.";
  return "";
}

/// The communicators and the device of a case.
struct Joined {
  Communicator* transport = nullptr;
  Communicator* intra_node = nullptr;  ///< used by hybrids inside a node
  Device* device = nullptr;            ///< device of the buffers
};

/// The groups of ranks that make a call at once.
struct Groups {
  int size = 0;                ///< ranks of one; 0: there is one of all
  bool rails = false;          ///< else blocks
  int own = 0;                 ///< the group of this rank
  std::vector<int> members{};  ///< of this rank's group
};
Groups make_groups(const CollectivesSettings& asked, const Communicator& ranks) {
  Groups groups{asked.group, asked.rails};
  if (groups.size == 0) return groups;
  const int count = ranks.size() / groups.size;
  const auto group = [&](int rank) { return asked.rails ? rank % count : rank / groups.size; };
  groups.own = group(ranks.rank());
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (group(rank) == groups.own) groups.members.push_back(rank);
  return groups;
}

/// Why these calls cannot be made in groups, or "".
std::string why_not_groups(const CollectivesSettings& asked, const Options& options,
                           const Communicator& ranks) {
  if (asked.group == 0) return "";
  if (ranks.size() % asked.group != 0)
    return fmt::format("{} ranks are no groups of {}. Use --groups with a divisor.", ranks.size(),
                       asked.group);
  const bool other = options.get("inside", "same") != "same";
  if (asked.problem->shape().beside > 0)
    return "--beside makes halves of all ranks. Use --groups 0.";
  if (asked.problem->shape().pattern == Pattern::barrier || asked.replay || other)
    return fmt::format("{} is of all ranks. Use --groups 0.", other          ? "--intra-node"
                                                              : asked.replay ? "--replay"
                                                                             : "a barrier");
  return "";
}

/// Collective.
Result<Joined> join_all(const Options& options, CaseContext& context, const Groups& groups) {
  const std::string transport = options.get("transport", "");
  const bool staging = is_staged(options);
  const std::string device_owner = staging ? gpu_transport : transport;
  const Result<Communicator*> first = join_transport(device_owner, options, context);
  if (const auto* refusal = std::get_if<Unsupported>(&first))
    return staging
               ? Unsupported{fmt::format("{} reads host memory, and staging GPU memory needs {} "
                                         "to select the GPU ({})",
                                         transport, device_owner, refusal->reason)}
               : *refusal;
  const Result<Device*> device = together<Device*>(context.ranks, [&] {
    return std::get<Backend*>(context.plugins.open(device_owner))->device(options);
  });
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return *refusal;

  Joined joined{std::get<Communicator*>(first), nullptr, std::get<Device*>(device)};
  if (staging) {
    const Result<Communicator*> host_transport =
        join_transport(transport, on_host(options), context);
    if (const auto* refusal = std::get_if<Unsupported>(&host_transport)) return *refusal;
    joined.transport = std::get<Communicator*>(host_transport);
    if (!all_staged(options)) {
      std::unique_ptr<Communicator>& known =
          context
              .joined[fmt::format("{} {} staged", transport, options.get("ranks_per_node", "0"))];
      if (known == nullptr) known = staged(*joined.transport, *joined.device);
      joined.transport = known.get();
    }
  }
  if (groups.size > 0) {
    std::unique_ptr<Communicator>& known = context.joined[fmt::format(
        "{} {} {} in groups {} {}", transport, options.get("ranks_per_node", "0"),
        options.get("device", ""), groups.size, groups.rails ? "rail" : "block")];
    if (known == nullptr) known = joined.transport->split(groups.own, context.ranks.rank());
    joined.transport = known.get();
  }
  joined.intra_node = joined.transport;
  const std::string intra_node = options.get("inside", "same");
  if (intra_node != "same" && intra_node != "shared_memory") {
    const Result<Communicator*> other =
        join_transport(intra_node, all_staged(options) ? on_host(options) : options, context);
    if (const auto* refusal = std::get_if<Unsupported>(&other)) return *refusal;
    joined.intra_node = std::get<Communicator*>(other);
  }
  return joined;
}

}  // namespace

Result<Communicator*> join_transport(const std::string& name, const Options& options,
                                     CaseContext& context) {
  const std::string key =
      fmt::format("{} {} {}", name, options.get("ranks_per_node", "0"), options.get("device", ""));
  if (const auto known = context.joined.find(key); known != context.joined.end())
    return known->second.get();
  // A communicator of its own: messages of an algorithm must not meet those of the runner.
  if (name == launched_transport)
    return context.joined.emplace(key, context.ranks.split(0, context.ranks.rank()))
        .first->second.get();
  const Result<Backend*> opened =
      together<Backend*>(context.ranks, [&] { return context.plugins.open(name); });
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) return *refusal;
  Result<std::unique_ptr<Communicator>> communicator = together<std::unique_ptr<Communicator>>(
      context.ranks, [&] { return std::get<Backend*>(opened)->connect(options, context.ranks); });
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(*refusal);
  std::unique_ptr<Communicator>& ranks = std::get<std::unique_ptr<Communicator>>(communicator);
  if (ranks->size() != context.ranks.size() || ranks->rank() != context.ranks.rank())
    throw CaseError(
        fmt::format("{} connects this process as rank {} of {}, but it is rank {} of {}.", name,
                    ranks->rank(), ranks->size(), context.ranks.rank(), context.ranks.size()));
  return context.joined.emplace(key, std::move(ranks)).first->second.get();
}

Result<std::unique_ptr<Communicator>> connected_ranks(const Options& options,
                                                      CaseContext& context) {
  const std::string name = options.get("transport", launched_transport);
  if (name == gpu_transport && options.get("wire", "none") != "none")
    return Unsupported{
        fmt::format("--wire converts data on the host, whose memory {} does not read. Use --wire "
                    "none.",
                    name)};
  const Result<Communicator*> joined = join_transport(name, options, context);
  if (const auto* refusal = std::get_if<Unsupported>(&joined)) return *refusal;
  Communicator& transport = *std::get<Communicator*>(joined);
  Result<std::unique_ptr<Communicator>> communicator =
      together<std::unique_ptr<Communicator>>(context.ranks, [&] {
        return find_entry(options.get("algorithm", "library")).make(transport, transport, options);
      });
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(*refusal);
  return layered(std::move(std::get<std::unique_ptr<Communicator>>(communicator)), options);
}

JobNetwork job_network(const std::string& transport, Communicator* ranks) {
  if (transport == gpu_transport)
    return {transport, nullptr,
            fmt::format("the collectives go over {}, whose messages are of GPU memory", transport)};
  return {transport == launched_transport ? JobNetwork{}.name : transport, ranks};
}

namespace {

/// The source of the arrivals, which show who comes late to the calls; `transport` transfers the
/// messages of these.
ArrivalSource make_arrivals(const CollectivesSettings& asked, const Options& options,
                            Communicator& transport) {
  if (on_gpu(options)) return {{}, "a GPU makes the calls: the host's clock does not tell when"};
  if (asked.problem->shape().beside > 0 || asked.group > 0)
    return {{}, "not all ranks make one call together"};
  const Pattern pattern = asked.problem->shape().pattern;
  if (pattern == Pattern::broadcast || pattern == Pattern::reduce || pattern == Pattern::sendrecv)
    return {{}, fmt::format("in a {} not all ranks wait for the last one", name(pattern))};
  return {ArrivalSource::Kind::collective, "",
          job_network(options.get("transport", ""), &transport)};
}

/// Why messages between pairs of ranks cannot be exchanged so, or "".
std::string why_not_exchange(Pattern pattern, const Options& options) {
  if (options.get("algorithm", "library") != "library")
    return fmt::format("{} consists of messages (it has no algorithm). Use --algorithm library.",
                       name(pattern));
  if (options.get("wire", "none") != "none")
    return fmt::format("{} consists of messages, which --wire does not compress. Use --wire none.",
                       name(pattern));
  if (pattern != Pattern::sendrecv && on_gpu(options))
    return fmt::format("{} is of messages between hosts' memories. Use --device cpu.",
                       name(pattern));
  return "";
}

}  // namespace

Result<std::unique_ptr<Workload>> collective_workload(const Case& wanted,
                                                      const CollectivesSettings& asked,
                                                      CaseContext& context) {
  const CollectiveProblem& problem = *asked.problem;
  const CollectiveShape& shape = problem.shape();
  if (std::string reason = why_not_problem(shape); !reason.empty())
    return Unsupported{std::move(reason)};
  // Each rank generates and checks data with its share of the processors: more threads would spin
  // during the other ranks' calls.
  omp_set_num_threads(std::max(1, processors() / context.ranks_here));
  Options options;
  options.settings = wanted.settings;
  const auto start = std::chrono::steady_clock::now();

  if (std::string reason = why_not_groups(asked, options, context.ranks); !reason.empty())
    return Unsupported{std::move(reason)};
  const Groups groups = make_groups(asked, context.ranks);
  const Result<Joined> all = join_all(options, context, groups);
  if (const auto* refusal = std::get_if<Unsupported>(&all)) return *refusal;
  const Joined& joined = std::get<Joined>(all);
  const bool staged_as_whole = all_staged(options);

  CollectiveSettings settings{options.get("algorithm", "library"), options.get("transport", ""),
                              options.get("mode", "blocking") == "nonblocking",
                              options.get("buffers", "ordinary") == "registered"};
  if (is_exchange(shape.pattern)) {
    if (std::string reason = why_not_exchange(shape.pattern, options); !reason.empty())
      return Unsupported{std::move(reason)};
    if (is_staged(options)) settings.transport += std::string(", ") + staged_words;
  }
  if (std::string reason = why_not_together(settings, options); !reason.empty())
    return Unsupported{std::move(reason)};
  Result<std::unique_ptr<Communicator>> communicator =
      together<std::unique_ptr<Communicator>>(context.ranks, [&] {
        if (is_staged(options)) expect_room_to_stage(problem, options, context);
        return find_entry(settings.algorithm)
            .make(*joined.transport, *joined.intra_node,
                  staged_as_whole ? on_host(options) : options);
      });
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(*refusal);
  std::unique_ptr<Communicator> algorithm =
      std::move(std::get<std::unique_ptr<Communicator>>(communicator));
  if (staged_as_whole) algorithm = staged(std::move(algorithm), *joined.device);
  std::unique_ptr<Communicator> ranks = layered(std::move(algorithm), options);
  const std::optional<ReplaySettings>& replay = asked.replay;
  if (std::string reason =
          replay ? why_not_replay(problem, *replay, *ranks) : why_not_collective(problem, *ranks);
      !reason.empty())
    return Unsupported{std::move(reason)};
  if (shape.beside > 0) {
    if (std::string reason = why_not_beside(problem, *ranks); !reason.empty())
      return Unsupported{std::move(reason)};
    // A half of the ranks is a part of the transport, without what lies over it.
    if (replay || settings.nonblocking || settings.registered || on_gpu(options) ||
        settings.algorithm != "library" || options.get("wire", "none") != "none")
      return Unsupported{
          "--beside is of the transport's own blocking calls in the host's memory. Use --beside "
          "0."};
  }
  if (settings.registered && !ranks->allocate(1))
    return Unsupported{settings.algorithm + " over " + settings.transport +
                       " does not allocate buffers. Use --buffers ordinary."};

  if (shape.pattern == Pattern::barrier)
    return barrier_workload(std::move(ranks), context.ranks, *joined.device, settings,
                            make_arrivals(asked, options, *joined.transport));
  OperationSetup setup;
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.ranks_here = on_gpu(options) ? 1 : context.ranks_here;  // ranks that share the memory
  setup.reference_budget = context.reference_budget;
  setup.arrivals = make_arrivals(asked, options, *joined.transport);
  const double create = seconds_since(start);
  if (replay)
    return replay_workload(
        problem, *replay,
        {std::ssize(replay_counts(CollectivesBenchmark(), wanted.settings.at("replay"))),
         std::stod(wanted.settings.at("compute")), wanted.settings.at("progress") == "polled"},
        std::move(ranks), settings, *joined.device, create, setup);
  if (shape.beside > 0)
    return beside_workload(problem, std::move(ranks), settings, *joined.device, create, setup);
  std::unique_ptr<Oracle> oracle = collective_oracle(problem, ranks->rank(), groups.members);
  if (shape.pattern == Pattern::bisection)
    return bisection_workload(problem, std::move(ranks), settings, *joined.device,
                              std::move(oracle), create, setup);
  return operation_workload(problem, collective_operation(problem, std::move(ranks), settings),
                            *joined.device, std::move(oracle), create, setup);
}

}  // namespace assay
