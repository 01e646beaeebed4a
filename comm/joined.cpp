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
/// refusal by some ranks is an error, which all ranks must know before the next collective call.
std::optional<Unsupported> agree_on(const std::string& mine, Communicator& ranks) {
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
Result<T> run_together(Communicator& ranks, const Step& step) {
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
  if (auto refusal = agree_on(find_reason(result), ranks)) return std::move(*refusal);
  return result;
}

const AlgorithmEntry& find_entry(const std::string& name) {
  const auto& all = algorithms();
  return *std::find_if(all.begin(), all.end(),
                       [&](const AlgorithmEntry& entry) { return entry.name == name; });
}

/// How a case connects its ranks, read once from its settings. A setting that the program lacks has
/// its default.
struct Connection {
  explicit Connection(Settings settings) : options{std::move(settings)} {}
  Connection on_host() const {
    Settings settings = options.settings;
    settings["device"] = "cpu";
    return Connection(std::move(settings));
  }

  Options options;  ///< for plugins and algorithms, which read further settings
  std::string transport = options.get("transport", launched_transport);
  std::string algorithm = options.get("algorithm", "library");
  std::string intra_node = options.get("inside", "same");
  std::string wire = options.get("wire", "none");
  std::string ranks_per_node = options.get("ranks_per_node", "0");
  std::string device = options.get("device", "cpu");
  bool has_wire = wire != "none";
  bool is_fused = options.get("fusion", "0") != "0";
  bool on_gpu = device != "cpu";
  /// gpu_transport then selects the GPU of each rank.
  bool is_staged = on_gpu && transport != gpu_transport;
  /// No library below the algorithm reads GPU memory: then the whole algorithm runs on the host and
  /// its buffers are staged.
  bool all_staged = is_staged && intra_node != gpu_transport;
};

/// Page-locked memory cannot be swapped out: allocating more than is available would harm the whole
/// host. Each rank stages its send and receive buffer; in a hybrid, the ranks of a node together
/// stage one message, in place.
void expect_room_to_stage(const CollectiveProblem& problem, const Connection& connection,
                          const CaseContext& context) {
  double need = 0;
  for (const TensorSpec& spec : problem.tensors(context.ranks.rank() % problem.shape().ranks))
    need += static_cast<double>(spec.elements()) * static_cast<double>(size_of(spec.type));
  need = connection.all_staged ? need * context.ranks_here : problem.bytes();
  const auto available = static_cast<double>(memory_available());
  if (need > available)
    throw CaseError(
        fmt::format("staging needs {:.3g} GiB of this host's memory, page-locked, but {:.3g} GiB "
                    "are available. Use a smaller problem or --transport nccl.",
                    need / (1 << 30), available / (1 << 30)));
}

/// Why the settings cannot be combined, or empty: layers and replacements of NCCL inside a node
/// access data in host memory, and layers send from buffers of their own.
std::string why_not_together(const CollectiveSettings& settings, const Connection& connection) {
  const std::string& intra_node = connection.intra_node;
  if (connection.on_gpu) {
    if (settings.registered) return "registered buffers are host memory. Use --device cpu.";
    if (connection.has_wire) return "--wire converts data on the host. Use --device cpu.";
    if (connection.is_fused) return "--fusion combines data on the host. Use --device cpu.";
    if (intra_node != "same" && intra_node != gpu_transport && !connection.all_staged)
      return intra_node + " reads host memory (--intra-node). Use --device cpu.";
  }
  if (settings.registered && connection.has_wire)
    return "--wire sends from its own buffers. Use --buffers ordinary.";
  if (settings.registered && connection.is_fused)
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
  int size = 0;                ///< ranks of a group; 0: one group of all ranks
  bool rails = false;          ///< false: blocks of consecutive ranks
  int own = 0;                 ///< the group of this rank
  std::vector<int> members{};  ///< of this rank's group
};
Groups make_groups(const CollectivesSettings& collectives, const Communicator& ranks) {
  Groups groups{collectives.group, collectives.rails};
  if (groups.size == 0) return groups;
  const int count = ranks.size() / groups.size;
  const auto group = [&](int rank) {
    return collectives.rails ? rank % count : rank / groups.size;
  };
  groups.own = group(ranks.rank());
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (group(rank) == groups.own) groups.members.push_back(rank);
  return groups;
}

/// Why these calls cannot be made in groups, or "".
std::string why_not_groups(const CollectivesSettings& collectives, const Connection& connection,
                           const Communicator& ranks) {
  if (collectives.group == 0) return "";
  if (ranks.size() % collectives.group != 0)
    return fmt::format("{} ranks cannot form groups of {}. Use --groups with a divisor.",
                       ranks.size(), collectives.group);
  const bool other = connection.intra_node != "same";
  if (collectives.problem->shape().beside > 0)
    return "--beside makes halves of all ranks. Use --groups 0.";
  if (collectives.problem->shape().pattern == Pattern::barrier || collectives.replay || other)
    return fmt::format("{} is of all ranks. Use --groups 0.", other                ? "--intra-node"
                                                              : collectives.replay ? "--replay"
                                                                                   : "a barrier");
  return "";
}

/// The transport `name` over the ranks of `context`. It is joined once and shared by all cases with
/// the same options. CaseError names a rank that fails while others succeed. Collective.
Result<Communicator*> join_transport(const std::string& name, const Connection& connection,
                                     CaseContext& context) {
  const std::string key =
      fmt::format("{} {} {}", name, connection.ranks_per_node, connection.device);
  if (const auto known = context.joined.find(key); known != context.joined.end())
    return known->second.get();
  // A separate communicator: messages of an algorithm must not mix with those of the runner.
  if (name == launched_transport)
    return context.joined.emplace(key, context.ranks.split(0, context.ranks.rank()))
        .first->second.get();
  const Result<Backend*> opened =
      run_together<Backend*>(context.ranks, [&] { return context.plugins.open(name); });
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) return *refusal;
  Result<std::unique_ptr<Communicator>> communicator = run_together<std::unique_ptr<Communicator>>(
      context.ranks,
      [&] { return std::get<Backend*>(opened)->connect(connection.options, context.ranks); });
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(*refusal);
  std::unique_ptr<Communicator>& ranks = std::get<std::unique_ptr<Communicator>>(communicator);
  if (ranks->size() != context.ranks.size() || ranks->rank() != context.ranks.rank())
    throw CaseError(
        fmt::format("{} connects this process as rank {} of {}, but it is rank {} of {}.", name,
                    ranks->rank(), ranks->size(), context.ranks.rank(), context.ranks.size()));
  return context.joined.emplace(key, std::move(ranks)).first->second.get();
}

/// Collective.
Result<Joined> join_all(const Connection& connection, CaseContext& context, const Groups& groups) {
  const std::string& transport = connection.transport;
  const bool staging = connection.is_staged;
  const std::string device_owner = staging ? gpu_transport : transport;
  const Result<Communicator*> first = join_transport(device_owner, connection, context);
  if (const auto* refusal = std::get_if<Unsupported>(&first))
    return staging
               ? Unsupported{fmt::format("{} reads host memory, and staging GPU memory needs {} "
                                         "to select the GPU ({})",
                                         transport, device_owner, refusal->reason)}
               : *refusal;
  const Result<Device*> device = run_together<Device*>(context.ranks, [&] {
    return std::get<Backend*>(context.plugins.open(device_owner))->device(connection.options);
  });
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return *refusal;

  Joined joined{std::get<Communicator*>(first), nullptr, std::get<Device*>(device)};
  if (staging) {
    const Result<Communicator*> host_transport =
        join_transport(transport, connection.on_host(), context);
    if (const auto* refusal = std::get_if<Unsupported>(&host_transport)) return *refusal;
    joined.transport = std::get<Communicator*>(host_transport);
    if (!connection.all_staged) {
      std::unique_ptr<Communicator>& known =
          context.joined[fmt::format("{} {} staged", transport, connection.ranks_per_node)];
      if (known == nullptr) known = make_staged(*joined.transport, *joined.device);
      joined.transport = known.get();
    }
  }
  if (groups.size > 0) {
    std::unique_ptr<Communicator>& known =
        context
            .joined[fmt::format("{} {} {} in groups {} {}", transport, connection.ranks_per_node,
                                connection.device, groups.size, groups.rails ? "rail" : "block")];
    if (known == nullptr) known = joined.transport->split(groups.own, context.ranks.rank());
    joined.transport = known.get();
  }
  joined.intra_node = joined.transport;
  const std::string& intra_node = connection.intra_node;
  if (intra_node != "same" && intra_node != "shared_memory") {
    const Result<Communicator*> other = join_transport(
        intra_node, connection.all_staged ? connection.on_host() : connection, context);
    if (const auto* refusal = std::get_if<Unsupported>(&other)) return *refusal;
    joined.intra_node = std::get<Communicator*>(other);
  }
  return joined;
}

}  // namespace

Result<std::unique_ptr<Communicator>> connect_ranks(const Options& options, CaseContext& context) {
  const Connection connection(options.settings);
  const std::string& name = connection.transport;
  if (name == gpu_transport && connection.has_wire)
    return Unsupported{
        fmt::format("--wire converts data on the host, whose memory {} does not read. Use --wire "
                    "none.",
                    name)};
  const Result<Communicator*> joined = join_transport(name, connection, context);
  if (const auto* refusal = std::get_if<Unsupported>(&joined)) return *refusal;
  Communicator& transport = *std::get<Communicator*>(joined);
  Result<std::unique_ptr<Communicator>> communicator = run_together<std::unique_ptr<Communicator>>(
      context.ranks,
      [&] { return find_entry(connection.algorithm).make(transport, transport, options); });
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(*refusal);
  return add_layers(std::move(std::get<std::unique_ptr<Communicator>>(communicator)), options);
}

JobNetwork job_network(const std::string& transport, Communicator* ranks) {
  if (transport == gpu_transport)
    return {transport, nullptr,
            fmt::format("the collectives go over {}, whose messages are of GPU memory", transport)};
  return {transport == launched_transport ? JobNetwork{}.name : transport, ranks};
}

namespace {

/// The source of the arrivals, which show which rank enters the calls late. `transport` carries the
/// messages of their measurement.
ArrivalSource make_arrivals(const CollectivesSettings& collectives, const Connection& connection,
                            Communicator& transport) {
  if (connection.on_gpu) return {{}, "a GPU makes the calls: the host's clock does not tell when"};
  if (collectives.problem->shape().beside > 0 || collectives.group > 0)
    return {{}, "not all ranks make one call together"};
  const Pattern pattern = collectives.problem->shape().pattern;
  if (pattern == Pattern::broadcast || pattern == Pattern::reduce || pattern == Pattern::sendrecv)
    return {{}, fmt::format("in a {} not all ranks wait for the last one", name(pattern))};
  return {ArrivalSource::Kind::collective, "", job_network(connection.transport, &transport)};
}

/// Why a pattern of messages between pairs of ranks cannot run over this connection, or "".
std::string why_not_exchange(Pattern pattern, const Connection& connection) {
  if (connection.algorithm != "library")
    return fmt::format("{} consists of messages (it has no algorithm). Use --algorithm library.",
                       name(pattern));
  if (connection.has_wire)
    return fmt::format("{} consists of messages, which --wire does not compress. Use --wire none.",
                       name(pattern));
  if (pattern != Pattern::sendrecv && connection.on_gpu)
    return fmt::format("{} is of messages between hosts' memories. Use --device cpu.",
                       name(pattern));
  return "";
}

}  // namespace

Result<std::unique_ptr<Workload>> make_collective_workload(const Case& wanted,
                                                           const CollectivesSettings& collectives,
                                                           CaseContext& context) {
  const CollectiveProblem& problem = *collectives.problem;
  const CollectiveShape& shape = problem.shape();
  if (std::string reason = why_not_problem(shape); !reason.empty())
    return Unsupported{std::move(reason)};
  // Each rank generates and checks data with its share of the processors: more threads would spin
  // while other ranks make calls.
  omp_set_num_threads(std::max(1, processors() / context.ranks_here));
  const Connection connection(wanted.settings);
  const auto start = std::chrono::steady_clock::now();

  if (std::string reason = why_not_groups(collectives, connection, context.ranks); !reason.empty())
    return Unsupported{std::move(reason)};
  const Groups groups = make_groups(collectives, context.ranks);
  const Result<Joined> all = join_all(connection, context, groups);
  if (const auto* refusal = std::get_if<Unsupported>(&all)) return *refusal;
  const Joined& joined = std::get<Joined>(all);

  CollectiveSettings settings{connection.algorithm, connection.transport,
                              wanted.settings.at("mode") == "nonblocking",
                              wanted.settings.at("buffers") == "registered"};
  if (is_exchange(shape.pattern)) {
    if (std::string reason = why_not_exchange(shape.pattern, connection); !reason.empty())
      return Unsupported{std::move(reason)};
    if (connection.is_staged) settings.transport += std::string(", ") + staged_words;
  }
  if (std::string reason = why_not_together(settings, connection); !reason.empty())
    return Unsupported{std::move(reason)};
  Result<std::unique_ptr<Communicator>> communicator =
      run_together<std::unique_ptr<Communicator>>(context.ranks, [&] {
        if (connection.is_staged) expect_room_to_stage(problem, connection, context);
        return find_entry(settings.algorithm)
            .make(*joined.transport, *joined.intra_node,
                  (connection.all_staged ? connection.on_host() : connection).options);
      });
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(*refusal);
  std::unique_ptr<Communicator> algorithm =
      std::move(std::get<std::unique_ptr<Communicator>>(communicator));
  if (connection.all_staged) algorithm = make_staged(std::move(algorithm), *joined.device);
  std::unique_ptr<Communicator> ranks = add_layers(std::move(algorithm), connection.options);
  const std::optional<ReplaySettings>& replay = collectives.replay;
  if (std::string reason =
          replay ? why_not_replay(problem, *replay, *ranks) : why_not_collective(problem, *ranks);
      !reason.empty())
    return Unsupported{std::move(reason)};
  if (shape.beside > 0) {
    if (std::string reason = why_not_beside(problem, *ranks); !reason.empty())
      return Unsupported{std::move(reason)};
    // Each half of the ranks uses a split of the transport itself, without algorithms and layers.
    if (replay || settings.nonblocking || settings.registered || connection.on_gpu ||
        settings.algorithm != "library" || connection.has_wire)
      return Unsupported{
          "--beside is of the transport's own blocking calls in the host's memory. Use --beside "
          "0."};
  }
  if (settings.registered && !ranks->allocate(1))
    return Unsupported{settings.algorithm + " over " + settings.transport +
                       " does not allocate buffers. Use --buffers ordinary."};

  if (shape.pattern == Pattern::barrier)
    return make_barrier_workload(std::move(ranks), context.ranks, *joined.device, settings,
                                 make_arrivals(collectives, connection, *joined.transport));
  OperationSetup setup;
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.ranks_here = connection.on_gpu ? 1 : context.ranks_here;  // ranks that share the memory
  setup.reference_budget = context.reference_budget;
  setup.arrivals = make_arrivals(collectives, connection, *joined.transport);
  const double create = seconds_since(start);
  if (replay)
    return replay_workload(
        problem, *replay,
        {std::ssize(replay_counts(CollectivesBenchmark(), wanted.settings.at("replay"))),
         std::stod(wanted.settings.at("compute")), wanted.settings.at("progress") == "polled"},
        std::move(ranks), settings, *joined.device, create, setup);
  if (shape.beside > 0)
    return make_beside_workload(problem, std::move(ranks), settings, *joined.device, create, setup);
  std::unique_ptr<Oracle> oracle = make_collective_oracle(problem, ranks->rank(), groups.members);
  if (shape.pattern == Pattern::bisection)
    return make_bisection_workload(problem, std::move(ranks), settings, *joined.device,
                                   std::move(oracle), create, setup);
  return make_operation_workload(problem, collective_operation(problem, std::move(ranks), settings),
                                 *joined.device, std::move(oracle), create, setup);
}

}  // namespace assay
