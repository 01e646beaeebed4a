// Collects the candidates of an executor, and chooses one for each node.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/run_case.hpp"
#include "core/program/benchmark.hpp"
#include "models/network/executor.hpp"
#include "models/network/node_check.hpp"
#include "models/network/tolerance.hpp"

namespace assay {
namespace {

/// Runs of each candidate; the fastest one counts.
constexpr int measured_runs = 3;

/// A candidate whose first run took this many times as long as the fastest is not run again.
constexpr double much_slower = 2;

/// The error that one operation may have, as a part of the network's bound: about 1 / sqrt(n) for
/// the n layers of a network like ResNet-50, whose errors are independent.
constexpr double share_of_tolerance = 1.0 / 8;

/// True if two operations of a backend do the same in the same way.
bool same_way(const Execution& a, const Execution& b) {
  return a.algorithm == b.algorithm && a.implementation == b.implementation && a.tile == b.tile &&
         a.operand_roundings == b.operand_roundings;
}

}  // namespace

std::string Choice::text() const {
  return algorithm.empty() ? backend : fmt::format("{} ({})", backend, algorithm);
}

/// The choices to try for a node, in this order.
std::vector<Choice> Executor::choices(std::size_t node, Plugins& plugins) const {
  if (!settings_.chosen.empty()) {
    const Choice& chosen = settings_.chosen.at(node);
    if (chosen.algorithm.empty() || chosen.has_sums()) return {{chosen.backend, ""}};  // add_sums()
    return {chosen, {chosen.backend, ""}};
  }
  std::vector<Choice> all;
  for (const std::string& backend : settings_.backends) {
    all.push_back({backend, ""});
    if (!settings_.measured) continue;
    Result<Backend*> opened = plugins.open(backend);
    if (Backend** const maker = std::get_if<Backend*>(&opened))
      for (std::string& algorithm : (*maker)->algorithms(graph_.nodes[node].problem->kind()))
        all.push_back({backend, std::move(algorithm)});
  }
  return all;
}

Result<Executor::Candidate> Executor::try_candidate(const GraphNode& node, const Choice& choice,
                                                    Plugins& plugins, Communicator& ranks,
                                                    std::exception_ptr* failure) const {
  Result<Candidate> candidate = Unsupported{""};
  std::string fault;
  try {
    candidate = make_candidate(node, choice, plugins, ranks);
    if (const auto* const refusal = std::get_if<Unsupported>(&candidate)) fault = refusal->reason;
  } catch (const std::exception& error) {
    if (failure != nullptr && !*failure) *failure = std::current_exception();
    fault = error.what();
  }
  // A candidate that fails on one rank is left out on all: all ranks must have the same ones.
  if (const Agreement faults(fault, ranks); !faults.none()) return Unsupported{faults.text()};
  return candidate;
}

std::string Executor::make_candidates(Plugins& plugins, Communicator& ranks) {
  candidates_.resize(graph_.nodes.size());
  std::vector<std::vector<Choice>> wanted;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    wanted.push_back(candidates_[i].empty() ? choices(i, plugins) : std::vector<Choice>());
  // Else a rank would wait in try_candidate() for one that does not come.
  if (settings_.measured) expect_equal(wanted, ranks);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    std::vector<std::string> reasons;
    std::exception_ptr failure;
    std::vector<Candidate>& all = candidates_[i];
    for (const Choice& choice : wanted[i]) {
      Result<Candidate> prepared =
          settings_.measured || !choice.algorithm.empty()
              ? try_candidate(graph_.nodes[i], choice, plugins, ranks, &failure)
              : make_candidate(graph_.nodes[i], choice, plugins, ranks);
      if (auto* refusal = std::get_if<Unsupported>(&prepared)) {
        // A backend's reason is kept once, for its own choice, not again for each algorithm.
        if (choice.algorithm.empty())
          reasons.push_back(refusal->reason.starts_with(choice.backend)
                                ? refusal->reason
                                : fmt::format("{}: {}", choice.backend, refusal->reason));
        if (first_refusal_.empty() && settings_.chosen.empty() &&
            choice.backend == settings_.backends.front())
          first_refusal_ = refusal->reason;
        continue;
      }
      Candidate& candidate = std::get<Candidate>(prepared);
      if (std::ranges::none_of(all, [&](const Candidate& other) {
            return other.choice.backend == choice.backend &&
                   same_way(other.operation->execution(), candidate.operation->execution());
          }))
        all.push_back(std::move(candidate));
      if (!settings_.measured || graph_.nodes[i].phase == Phase::update) break;
    }
    if (all.empty() && failure) std::rethrow_exception(failure);
    if (all.empty())
      return fmt::format(
          "no backend computes {} ({}){}", graph_.nodes[i].text(), join(reasons, "; "),
          row_major_ || settings_.device != "cpu" || graph_.precision == Precision::tf32
              ? ""
              : fmt::format(". Use --backend {}, which computes a whole network.",
                            dimension::list_backends("reference").front()));
    if (device_ == nullptr) device_ = all.front().device;
  }
  leave_out_large();
  return "";
}

std::string Executor::why_unused() const {
  if (settings_.measured || settings_.backends.empty()) return "";
  const std::string& first_backend = settings_.backends.front();
  if (std::ranges::any_of(candidates_, [&](const std::vector<Candidate>& all) {
        return all.front().choice.backend == first_backend;
      }))
    return "";
  return fmt::format("{} computes no operation of the network ({})", first_backend, first_refusal_);
}

/// Leaves out algorithms that no backend chooses by itself if they need more scratch memory than
/// all those that some backend does.
void Executor::leave_out_large() {
  const auto own = [](const Candidate& candidate) { return candidate.choice.is_own(); };
  std::size_t most = 0;
  for (const std::vector<Candidate>& all : candidates_)
    for (const Candidate& candidate : all)
      if (own(candidate)) most = std::max(most, candidate.scratch);
  for (std::vector<Candidate>& all : candidates_)
    if (std::ranges::any_of(all, own))
      std::erase_if(all, [&](const Candidate& candidate) {
        return !own(candidate) && candidate.scratch > most;
      });
}

/// Candidates must be equal because ranks choose together, by the times of all ranks, and the row
/// tells only rank 0's choices.
void Executor::expect_equal_candidates(Communicator& ranks) const {
  std::vector<std::vector<Choice>> all(candidates_.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Candidate& candidate : candidates_[i]) all[i].push_back(candidate.choice);
  expect_equal(all, ranks);
}

/// Throws on all ranks if they have different `choices` for a node.
void Executor::expect_equal(const std::vector<std::vector<Choice>>& choices,
                            Communicator& ranks) const {
  if (ranks.size() == 1) return;
  std::vector<std::string> mine;
  for (const std::vector<Choice>& of_node : choices) {
    std::vector<std::string> names;
    for (const Choice& each : of_node) names.push_back(each.text());
    mine.push_back(join(names, ", "));
  }
  const std::vector<std::string> all = ranks.allgather(content_hash("candidates", mine));
  const auto other = std::ranges::find_if(all, [&](const auto& hash) { return hash != all[0]; });
  if (other == all.end()) return;
  const auto rank = static_cast<std::size_t>(other - all.begin());
  const std::vector<std::string> of_ranks = ranks.allgather(join(mine, "\n")),
                                 hosts = ranks.allgather(ranks.host());
  const std::vector<std::string> first = split(of_ranks[0], '\n'),
                                 others = split(of_ranks[rank], '\n');
  std::size_t node = 0;
  while (node + 1 < std::min(first.size(), others.size()) && first[node] == others[node]) ++node;
  throw CaseError(fmt::format(
      "rank {} on {} can compute {} by {}, rank 0 by {}: ranks must compute alike. Give a "
      "--backend that all nodes have.",
      rank, hosts[rank], graph_.nodes[node].text(), others[node], first[node]));
}

/// The seconds of each candidate: its fastest run of a few.
std::vector<double> Executor::seconds_of_all(std::vector<Candidate>& all) const {
  std::vector<double> seconds(all.size(), std::numeric_limits<double>::infinity());
  for (int run = 0; run < measured_runs; ++run) {
    const double most = much_slower * std::ranges::min(seconds);
    for (std::size_t c = 0; c < all.size(); ++c)
      if (run == 0 || seconds[c] <= most)
        seconds[c] = std::min(seconds[c], measure_seconds(all[c]));
  }
  return seconds;
}

/// Runs the first candidate of a node. Returns why its results may not be used, or ""; the result
/// is empty on all ranks or on none. Sets `wrong` only if the results are wrong. Results may also
/// be refused because they are too coarse, use another arithmetic, or cannot be judged.
std::string Executor::why_not(std::size_t index, Communicator& ranks, bool& wrong) {
  const GraphNode& node = graph_.nodes[index];
  const Choice& by = choice(index);
  const std::string which = fmt::format("{} by {}", node.text(), by.text());
  if (const auto unknown = node.oracle->why_unjudgeable(execution(index)))  // the same on all ranks
    return fmt::format("{}: {}", which, *unknown);
  Verification verification;
  verification.passed = true;
  run_checked(*this, index, budget_of_node, index + 1, verification);
  double answers[] = {verification.wrong()  ? 2.0
                      : verification.passed ? 0.0
                                            : 1.0,
                      verification.norm_error};
  ranks.allreduce_max(answers);
  if (answers[0] > 0) {
    const bool is_wrong = answers[0] > 1;
    if (verification.passed || (is_wrong && verification.undecided))
      verification.reason =
          fmt::format("{}: it {} on another rank", which, is_wrong ? "is wrong" : "cannot be used");
    if (is_wrong) left_out_.push_back(verification.reason);
    wrong |= is_wrong;
    return verification.reason;
  }
  const NetworkTolerance tolerance = network_tolerance(operand_type(graph_.precision));
  const double most =
      share_of_tolerance * (node.phase == Phase::forward ? tolerance.forward : tolerance.gradients);
  if (by.is_own() || answers[1] <= most) return "";
  return fmt::format("{}: its error is {:.2g} of the 2-norm (at most {:.2g} is allowed)", which,
                     answers[1], most);
}

/// For the node `before` and the next one: puts the candidates with sums first if the two nodes
/// together are faster with sums; otherwise leaves these candidates out.
void Executor::choose_sums(std::size_t before, Communicator& ranks) {
  double best[] = {0, 0};  // without, with them
  for (const std::size_t node : {before, before + 1}) {
    const std::vector<double> seconds = seconds_of_all(candidates_[node]);
    double of_node[] = {std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::infinity()};
    for (std::size_t c = 0; c < seconds.size(); ++c) {
      double& least = of_node[candidates_[node][c].choice.has_sums() ? 1 : 0];
      least = std::min(least, seconds[c]);
    }
    for (const std::size_t which : {0, 1}) best[which] += of_node[which];
  }
  ranks.allreduce_max(best);
  for (const std::size_t node : {before, before + 1}) {
    std::vector<Candidate>& all = candidates_[node];
    const auto has_sums = [](const Candidate& candidate) { return candidate.choice.has_sums(); };
    if (best[1] < best[0])
      std::ranges::stable_partition(all, has_sums);
    else
      std::erase_if(all, has_sums);
  }
  if (best[1] >= best[0] && not_fused_.empty())
    not_fused_ = fmt::format("{} and its normalization take {:.4g} us, {:.4g} us with its sums",
                             graph_.nodes[before].text(), 1e6 * best[0], 1e6 * best[1]);
}

bool Executor::chooses() const {
  return settings_.measured ||
         std::ranges::any_of(candidates_, [](const auto& all) { return all.size() > 1; });
}

void Executor::measure(Communicator& ranks) {
  if (!chooses()) return;
  recordings_.forget();
  // Touches all pages first, so that no candidate's time includes page faults.
  fill(arena_.get(), 0xff, arena_bytes_);
  if (sums_) fill(sums_.get(), 0xff, sums_bytes_);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[i].phase == Phase::update) continue;
    std::vector<Candidate>& all = candidates_[i];
    const auto is_summed = [this](std::size_t node) {
      return std::ranges::count(summed_, node) > 0;
    };
    if (is_summed(i) && all.size() > 1) choose_sums(i, ranks);
    if (i > 0 && is_summed(i - 1) && !choice(i - 1).has_sums())
      std::erase_if(all, [](const Candidate& candidate) { return candidate.choice.has_sums(); });
    if (!settings_.measured && all.size() == 1) {
      run_node(i);
      continue;
    }
    std::vector<double> seconds = seconds_of_all(all);
    ranks.allreduce_max(seconds);
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t c) { return all[c].choice.has_sums() ? 0 : seconds[c]; });
    std::vector<Candidate> sorted;
    for (const std::size_t c : order) sorted.push_back(std::move(all[c]));
    all = std::move(sorted);
    bool wrong = false;  // results of some candidate
    std::string not_fused =
        fmt::format("{} takes {:.4g} us in parts, {:.4g} us as one", graph_.nodes[i].text(),
                    1e6 * seconds[order.front()], 1e6 * seconds[order.back()]);
    for (std::string why; !(why = why_not(i, ranks, wrong)).empty();) {
      if (all.size() == 1 && !settings_.measured) break;  // as where nothing is chosen
      if (all.size() == 1 && !wrong) throw UnsupportedCase(why);
      if (all.size() == 1)
        throw CaseError(fmt::format("no candidate computes a layer right ({})", why));
      all.erase(all.begin());
      not_fused = std::move(why);
    }
    if (choice(i).is_in_parts() && not_fused_.empty()) not_fused_ = std::move(not_fused);
    all.resize(1);  // its checked run has left its results for the nodes that follow
  }
}

}  // namespace assay
