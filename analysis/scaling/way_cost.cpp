#include "analysis/scaling/way_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"

namespace assay::scaling {

namespace {

struct Way {
  std::string kind;
  int count = 0;  ///< servers, stages or parts
};

Way read_way(const WayInput& input) {
  const std::size_t colon = input.way.find(':');
  Way way{input.way.substr(0, colon)};
  const auto needs = [&](const std::optional<double>& field, const char* name) {
    if (!field) throw InputError(fmt::format("way {}: {} is missing", input.way, name));
  };
  if (way.kind == "async" && colon == std::string::npos) return way;
  const bool counted =
      way.kind == "stale" || way.kind == "server" || way.kind == "pipeline" || way.kind == "split";
  if (!counted || colon == std::string::npos)
    throw InputError(
        fmt::format("way {}: expected stale:S, async, server:K, pipeline:P or split:K", input.way));
  constexpr std::uint64_t most = 1'000'000;
  const std::uint64_t least = way.kind == "pipeline" || way.kind == "split" ? 2 : 1;
  way.count =
      static_cast<int>(whole_number("way " + input.way, input.way.substr(colon + 1), least, most));
  if (way.kind == "pipeline") needs(input.micro_batches, "micro_batches");
  if (way.kind == "split") needs(input.exchanges, "exchanges");
  if (least == 2) needs(input.activation_bytes, "activation_bytes");
  return way;
}

/// The time of a message between two of `members` consecutive ranks.
double message(const Network& network, int members, double bytes) {
  const Level& level = network.levels[crossing(network, 0, members - 1)];
  return level.alpha + level.beta * bytes;
}

/// The time in which every rank sends `bytes` to each other rank: the larger of the rank's own time
/// and that of the ports of the groups.
double to_all_others(const Network& network, int ranks, double bytes) {
  double own = 0, ports = 0;
  int inside = 1;  // ranks of the group of the level below
  for (std::size_t i = 0; i < network.levels.size() && inside < ranks; ++i) {
    const Level& level = network.levels[i];
    const int reached = level.ranks == 0 ? ranks : std::min(level.ranks, ranks);
    own += (reached - inside) * (level.alpha + level.beta * bytes);
    if (i > 0)
      ports =
          std::max(ports, double{1} * inside * (ranks - inside) * bytes * level.beta / level.links);
    inside = reached;
  }
  return std::max(own, ports);
}

/// The network of the ranks with the same part of the weights, one rank of every `part`. The other
/// ranks sum their parts at the same time, through the same ports.
Result<Network> between_groups(const Network& network, int part) {
  Network between{{}, network.segment_bytes};
  int inside = 1;  // ranks of a group of the level below
  for (const Level& level : network.levels) {
    const double senders = std::min(part, inside);  // for each that stays in the group
    inside = level.ranks;
    if (level.ranks != 0 && level.ranks <= part && part % level.ranks == 0) continue;
    if (level.ranks % part != 0)
      return Unsupported{
          fmt::format("{} ranks of {} are not whole groups of {}", level.ranks, level.name, part)};
    Level& own = between.levels.emplace_back(level);
    own.ranks /= part;
    if (between.levels.size() == 1)
      own.beta *= std::max(1.0, senders / level.links);
    else
      own.links /= senders;
  }
  return between;
}

/// The sum of the gradients of a part of the weights, over the ranks that have the part.
Result<double> sum_of_part(int part, int ranks, const Network& network, const RankWork& work,
                           const SumSeconds& sum) {
  if (ranks == part) return 0.0;
  const auto between = between_groups(network, part);
  if (const auto* refusal = std::get_if<Unsupported>(&between)) return *refusal;
  return sum(ranks / part, std::get<Network>(between), work.gradient_bytes / part);
}

WayTime stale(int ranks, const Network& network, const RankWork& work) {
  // Gradients, and weights.
  const double sent = 2 * to_all_others(network, ranks, work.gradient_bytes / ranks);
  return {std::max(work.compute.seconds(), sent), sent, ranks};
}

WayTime predict_served(int servers, int ranks, const Network& network, const RankWork& work) {
  // The servers of a node share its ports.
  const Level& outer = network.levels[crossing(network, 0, ranks - 1)];
  const int beside = outer.ranks == 0 && network.levels.size() > 1
                         ? std::min(servers, network.levels.end()[-2].ranks)
                         : 1;
  const double transfer = outer.alpha + outer.beta * work.gradient_bytes / servers *
                                            std::max(1.0, beside / outer.links);
  const int workers = ranks - servers;
  const double seconds =
      std::max(work.compute.seconds() + 2 * servers * transfer, 2 * workers * transfer);
  return {seconds, seconds - work.compute.seconds(), workers};
}

double predict_pipelined(const WayInput& input, int stages, const Network& network,
                         const RankWork& work) {
  const double passes = *input.micro_batches;
  const double sent = static_cast<double>(work.images) * stages / passes * *input.activation_bytes;
  return (passes + stages - 1) * work.compute.seconds() / passes +
         2 * (stages - 1) * message(network, stages, sent);
}

double predict_divided(const WayInput& input, int parts, const Network& network,
                       const RankWork& work) {
  const double bytes = static_cast<double>(work.images) * parts * *input.activation_bytes;
  const double ring = 2 * (parts - 1) * message(network, parts, bytes / parts);
  return work.compute.seconds() + 2 * *input.exchanges * ring;
}

}  // namespace

void expect_way(const WayInput& input) { (void)read_way(input); }

Result<WayTime> way_time(const WayInput& input, int ranks, const Network& network,
                         const RankWork& work, const SumSeconds& sum) {
  const Way way = read_way(input);
  if (way.kind == "stale" || way.kind == "async") return stale(ranks, network, work);
  if (way.kind == "server" && way.count >= ranks)
    return Unsupported{fmt::format("{} servers leave no worker", way.count)};
  if (way.kind == "server") return predict_served(way.count, ranks, network, work);
  if (ranks % way.count != 0)
    return Unsupported{fmt::format("{} does not divide the ranks", way.count)};
  const bool pipeline = way.kind == "pipeline";
  if (pipeline && static_cast<double>(work.images * way.count) < *input.micro_batches)
    return Unsupported{fmt::format("{} images are fewer than {} passes", work.images * way.count,
                                   *input.micro_batches)};
  const auto summed = sum_of_part(way.count, ranks, network, work, sum);
  if (const auto* refusal = std::get_if<Unsupported>(&summed)) return *refusal;
  const double seconds =
      (pipeline ? predict_pipelined : predict_divided)(input, way.count, network, work) +
      std::get<double>(summed);
  return WayTime{seconds, seconds - work.compute.seconds(), ranks};
}

namespace {

int parse_radix(const std::string& way, int ranks) {
  if (way == "flat") return std::max(1, ranks - 1);
  if (!way.starts_with("tree:"))
    throw InputError(fmt::format("control {}: expected flat, or tree:R", way));
  return static_cast<int>(whole_number("control " + way, way.substr(5), 2, 1024));
}

}  // namespace

ControlCost control_cost(const std::string& way, int ranks, const Network& network) {
  const int radix = parse_radix(way, ranks);
  const auto parent = [&](int rank) { return (rank - 1) / radix; };
  const auto alpha = [&](int rank) {
    return network.levels[crossing(network, rank, parent(rank))].alpha;
  };
  const auto count = static_cast<std::size_t>(ranks);
  // Over each edge of the tree, each tensor is reported once and decided once.
  std::vector<double> messages(count), busy(count), reported(count), answer_times(count),
      telling(count);
  for (int rank = 1; rank < ranks; ++rank)
    for (const int end : {rank, parent(rank)}) {
      messages[static_cast<std::size_t>(end)] += 2;
      busy[static_cast<std::size_t>(end)] += 2 * alpha(rank);
    }
  // Children have larger numbers than their parent. The parent handles their reports one after the
  // other.
  for (int rank = ranks - 1; rank > 0; --rank) {
    double& at = reported[static_cast<std::size_t>(parent(rank))];
    at = std::max(at, reported[static_cast<std::size_t>(rank)] + alpha(rank)) + alpha(rank);
  }
  double last = reported[0];
  answer_times[0] = telling[0] = reported[0];
  for (int rank = 1; rank < ranks; ++rank) {
    double& sent = telling[static_cast<std::size_t>(parent(rank))];
    sent += alpha(rank);
    const auto at = static_cast<std::size_t>(rank);
    answer_times[at] = telling[at] = sent + alpha(rank);
    last = std::max(last, answer_times[at]);
  }
  return {*std::ranges::max_element(messages), *std::ranges::max_element(busy), last};
}

}  // namespace assay::scaling
