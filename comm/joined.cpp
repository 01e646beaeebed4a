#include "comm/joined.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>

#include "comm/algorithms/algorithm.hpp"
#include "comm/collective_operation.hpp"
#include "comm/collectives_benchmark.hpp"
#include "comm/layers/layers.hpp"
#include "comm/layers/staged.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"

namespace assay {
namespace {

/// Everybody's answer to a refusal that a rank may have alone: what all refuse is unsupported, what
/// some refuse is a fault, and all ranks must hear of it before the next collective call.
std::optional<Unsupported> agreed(const std::string& mine, Communicator& ranks) {
  const std::vector<std::string> all = ranks.allgather(mine);
  const auto refuses = [](const std::string& reason) { return !reason.empty(); };
  if (std::all_of(all.begin(), all.end(), refuses)) return Unsupported{mine};
  const auto first = std::find_if(all.begin(), all.end(), refuses);
  if (first == all.end()) return std::nullopt;
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  const auto rank = static_cast<std::size_t>(first - all.begin());
  throw CaseError(
      fmt::format("rank {} on {} alone cannot take part ({}).", rank, hosts[rank], *first));
}

template <class T>
std::string reason_of(const Result<T>& made) {
  const auto* refusal = std::get_if<Unsupported>(&made);
  return refusal == nullptr ? "" : refusal->reason;
}

/// Where a rank throws in a step that all take, the others must not go on to the next one.
template <class T, class Step>
Result<T> together(Communicator& ranks, const Step& step) {
  std::string thrown;
  Result<T> made = Unsupported{""};
  try {
    made = step();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    thrown = error.what();
  }
  const std::vector<std::string> all = ranks.allgather(thrown);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty())
      throw CaseError(ranks.size() == 1 ? all[rank] : fmt::format("rank {}: {}", rank, all[rank]));
  if (auto refusal = agreed(reason_of(made), ranks)) return std::move(*refusal);
  return made;
}

const AlgorithmEntry& entry_of(const std::string& name) {
  const auto& all = algorithms();
  return *std::find_if(all.begin(), all.end(),
                       [&](const AlgorithmEntry& entry) { return entry.name == name; });
}

/// The transport that moves memory of GPUs. It also chooses the GPU of each rank, for the others,
/// which move the host's and are staged.
const std::string of_gpus = "nccl";

bool on_gpu(const Options& options) { return options.get("device", "cpu") != "cpu"; }
bool is_staged(const Options& options) {
  return on_gpu(options) && options.get("transport", "") != of_gpus;
}
/// Nothing beneath takes the GPU's memory: the algorithm runs on the host, staged as a whole.
bool all_staged(const Options& options) {
  return is_staged(options) && options.get("inside", "same") != of_gpus;
}
Options on_host(Options options) {
  options.settings["device"] = "cpu";
  return options;
}

/// Page-locked memory is taken from all on the host, and is not given back under pressure: what is
/// not there must not be asked for. Each rank stages what it sends and what it gets; of a hybrid,
/// the ranks of a node stage one vector together, in place.
void expect_room_to_stage(const CollectiveProblem& problem, const Options& options,
                          const CaseContext& context) {
  double need = 0;
  for (const TensorSpec& spec : problem.tensors(context.ranks.rank()))
    need += static_cast<double>(spec.elements()) * static_cast<double>(size_of(spec.type));
  need = all_staged(options) ? need * context.ranks_here : problem.bytes();
  const auto available = static_cast<double>(memory_available());
  if (need > available)
    throw CaseError(
        fmt::format("staging needs {:.3g} GiB of this host's memory, page-locked, but {:.3g} GiB "
                    "are available. Use a smaller problem or --transport nccl.",
                    need / (1 << 30), available / (1 << 30)));
}

/// Layers and what stands in NCCL's place touch data on the host, and the layers have memory of
/// their own.
std::string why_not_together(const CollectiveSettings& settings, const Options& options) {
  const std::string inside = options.get("inside", "same"), wire = options.get("wire", "none");
  if (on_gpu(options)) {
    if (settings.registered) return "registered buffers are memory of the host. Use --device cpu.";
    if (wire != "none") return "data are converted for the wire on the host. Use --device cpu.";
    if (options.get("fusion", "0") != "0") return "data are fused on the host. Use --device cpu.";
    if (inside != "same" && inside != of_gpus && !all_staged(options))
      return inside + " moves memory of the host (--inside). Use --device cpu.";
  }
  if (settings.registered && wire != "none")
    return "what goes over a wire of another type is sent from memory of its own. Use --buffers "
           "ordinary.";
  if (settings.registered && options.get("fusion", "0") != "0")
    return "fused data are sent from memory of its own. Use --buffers ordinary.";
  if (settings.registered && inside != "same")
    return "buffers are registered with the transport, not with " + inside +
           " (--inside). Use --buffers ordinary.";
  return "";
}

/// Who moves a case's data, and where they lie.
struct Joined {
  Communicator* outside = nullptr;
  Communicator* inside = nullptr;  ///< what a hybrid uses within a node
  Device* device = nullptr;
};

/// Collective.
Result<Joined> join_all(const Options& options, CaseContext& context) {
  const std::string transport = options.get("transport", "");
  const bool guest = is_staged(options);
  const std::string host = guest ? of_gpus : transport;
  const Result<Communicator*> first = join_transport(host, options, context);
  if (const auto* refusal = std::get_if<Unsupported>(&first))
    return guest ? Unsupported{fmt::format("{} moves memory of the host; a GPU's is staged, on the "
                                           "GPU that {} chooses ({})",
                                           transport, host, refusal->reason)}
                 : *refusal;
  const Result<Device*> device = together<Device*>(context.ranks, [&] {
    return std::get<Backend*>(context.plugins.open(host))->device(options);
  });
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return *refusal;

  Joined joined{std::get<Communicator*>(first), nullptr, std::get<Device*>(device)};
  if (guest) {
    const Result<Communicator*> moves = join_transport(transport, on_host(options), context);
    if (const auto* refusal = std::get_if<Unsupported>(&moves)) return *refusal;
    joined.outside = std::get<Communicator*>(moves);
    if (!all_staged(options)) {
      std::unique_ptr<Communicator>& known =
          context
              .joined[fmt::format("{} {} staged", transport, options.get("ranks_per_node", "0"))];
      if (known == nullptr) known = staged(*joined.outside, *joined.device);
      joined.outside = known.get();
    }
  }
  joined.inside = joined.outside;
  const std::string within = options.get("inside", "same");
  if (within != "same" && within != "shared_memory") {
    const Result<Communicator*> other =
        join_transport(within, all_staged(options) ? on_host(options) : options, context);
    if (const auto* refusal = std::get_if<Unsupported>(&other)) return *refusal;
    joined.inside = std::get<Communicator*>(other);
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
  const Result<Backend*> opened =
      together<Backend*>(context.ranks, [&] { return context.plugins.open(name); });
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) return *refusal;
  Result<std::unique_ptr<Communicator>> made = together<std::unique_ptr<Communicator>>(
      context.ranks, [&] { return std::get<Backend*>(opened)->connect(options, context.ranks); });
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
  std::unique_ptr<Communicator>& ranks = std::get<std::unique_ptr<Communicator>>(made);
  if (ranks->size() != context.ranks.size() || ranks->rank() != context.ranks.rank())
    throw CaseError(fmt::format("{} made this rank {} of {}, which is {} of {}.", name,
                                ranks->rank(), ranks->size(), context.ranks.rank(),
                                context.ranks.size()));
  return context.joined.emplace(key, std::move(ranks)).first->second.get();
}

Result<std::unique_ptr<Workload>> collective_workload(const Case& one, const CollectiveShape& shape,
                                                      CaseContext& context) {
  if (std::string reason = why_not_problem(shape); !reason.empty())
    return Unsupported{std::move(reason)};
  const CollectiveProblem problem(shape);
  // Data are made and checked by as many threads as each rank has processors: idle ones would spin
  // beside the other ranks' calls.
  omp_set_num_threads(std::max(1, processors() / context.ranks_here));
  Options options;
  options.settings = one.settings;
  const auto start = std::chrono::steady_clock::now();

  const Result<Joined> all = join_all(options, context);
  if (const auto* refusal = std::get_if<Unsupported>(&all)) return *refusal;
  const Joined& joined = std::get<Joined>(all);
  const bool whole = all_staged(options);

  CollectiveSettings settings{options.get("algorithm", "library"), options.get("transport", ""),
                              options.get("mode", "blocking") == "nonblocking",
                              options.get("buffers", "ordinary") == "registered"};
  if (shape.pattern == Pattern::sendrecv && settings.algorithm != "library")
    return Unsupported{"sendrecv is messages: there is no algorithm but the library's"};
  if (shape.pattern == Pattern::sendrecv && options.get("wire", "none") != "none")
    return Unsupported{"sendrecv is messages: they travel as they are, whatever --wire says"};
  if (shape.pattern == Pattern::sendrecv && is_staged(options))
    settings.transport += std::string(", ") + staged_words;
  if (std::string reason = why_not_together(settings, options); !reason.empty())
    return Unsupported{std::move(reason)};
  Result<std::unique_ptr<Communicator>> made =
      together<std::unique_ptr<Communicator>>(context.ranks, [&] {
        if (is_staged(options)) expect_room_to_stage(problem, options, context);
        return entry_of(settings.algorithm)
            .make(*joined.outside, *joined.inside, whole ? on_host(options) : options);
      });
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
  std::unique_ptr<Communicator> algorithm =
      std::move(std::get<std::unique_ptr<Communicator>>(made));
  if (whole) algorithm = staged(std::move(algorithm), *joined.device);
  std::unique_ptr<Communicator> ranks = layered(std::move(algorithm), options);
  const std::optional<ReplaySettings> replay = replay_settings(CollectivesBenchmark(), options);
  if (std::string reason =
          replay ? why_not_replay(problem, *replay, *ranks) : why_not_collective(problem, *ranks);
      !reason.empty())
    return Unsupported{std::move(reason)};
  if (settings.registered && !ranks->allocate(1))
    return Unsupported{settings.algorithm + " over " + settings.transport +
                       " has no memory of its own for buffers. Use --buffers ordinary."};

  if (shape.pattern == Pattern::barrier)
    return barrier_workload(std::move(ranks), context.ranks, *joined.device, settings);
  OperationSetup setup;
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.ranks_here = on_gpu(options) ? 1 : context.ranks_here;  // who share the data's memory
  setup.reference_budget = context.reference_budget;
  const double create =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (replay)
    return replay_workload(problem, *replay, std::move(ranks), settings, *joined.device, create,
                           setup);
  return operation_workload(problem, collective_operation(problem, std::move(ranks), settings),
                            *joined.device, collective_oracle(problem, setup.rank), create, setup);
}

}  // namespace assay
