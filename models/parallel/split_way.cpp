// Layers divided among ranks as a way of parallel training.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/measure/run_case.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/repeats.hpp"
#include "models/network/tolerance.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/split_oracle.hpp"
#include "models/parallel/split_plan.hpp"
#include "models/parallel/split_training.hpp"
#include "models/parallel/sum_times.hpp"
#include "models/parallel/undivided_oracle.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr std::size_t nodes_of_split_check = 8;

class SplitWay final : public ParallelWay {
 public:
  explicit SplitWay(const WayParts& parts)
      : parts_(parts),
        grid_(parts.ranks, static_cast<int>(parts.run.parallel.number)),
        training_(parts_, grid_) {}

  void begin() override {
    training_.begin();
    times_.clear();
  }

  void prepare_judge() override { before_ = training_.state(); }

  StepTotals make(const StepRange& steps) override {
    expect_one_judged(steps);
    StepTotals done;
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      const SplitTraining::Step step{steps.epoch, steps.first + i,
                                     steps.rates[static_cast<std::size_t>(i)], steps.judged};
      if (steps.judged) judged_ = step;
      last_loss_ = training_.make(step);
      times_.add(training_.network().seconds());
      training_.count(last_loss_, done);
    }
    return done;
  }

  void poison() override { training_.network().executor().poison(); }

  void gather() override {
    const StageState all = training_.gather(training_.state().values);
    put_state(all, parts_.whole.executor());
    parts_.whole.running_statistics() = all.running;
  }

  /// Compares the last step with that of the undivided network. Then repeats it with checks, and
  /// compares the results.
  void judge(Verification& verification) override {
    if (!std::exchange(compared_, true))
      compare_with_undivided(parts_.run.trainer, parts_.plugins, grid_.group(), verification);
    const SplitState after = training_.state();
    compare_step(after, verification);
    judge_copies(verification);
    verification.fail(training_.fault());
    if (after.scale.skipped > before_.scale.skipped) return;  // the step has left nothing finite
    make_again(nodes_of_split_check, verification);
    const StageState checked = training_.state().values;
    std::vector<Trainer::Difference> differences = compare(after.values, checked, verification);
    double spreads =
        verification.passed && may_spread(parts_.run.trainer.precision, differences) ? 1 : 0;
    parts_.ranks.allreduce_max(std::span(&spreads, 1));
    if (spreads > 0) {
      const auto repeat = [&](bool every) {
        make_again(every ? graph().nodes.size() : nodes_of_split_check, verification);
        return compare(training_.state().values, checked, verification);
      };
      spread_ = std::max(spread_, allow_spread(parts_.run.trainer, repeat, differences));
    }
    if (const Trainer::Difference largest = worst(differences);
        !(largest.relative <= largest.allowed))
      verification.fail(fmt::format(
          "after a timed step, the {} differ by {:.3g} of their 2-norm from those after the same "
          "step with checks",
          largest.what, largest.relative));
  }

  /// Measures right after the steps, so that a change of the machine's speed affects all numbers
  /// equally.
  std::map<std::string, Metric> metrics() override {
    SplitNetwork& network = training_.network();
    const std::vector<double> alone_s = network.measure_sums();
    training_.forget_runs();
    double bytes = static_cast<double>(network.executor().bytes());
    parts_.ranks.allreduce_max(std::span(&bytes, 1));
    const SplitFlops flops = split_flops(parts_.whole.graph(), network.graph());
    std::map<std::string, Metric> all{
        {"sums_of_pass", {static_cast<double>(network.sums()), "", "lower"}},
        {"summed_bytes",
         {network.summed_bytes() * static_cast<double>(parts_.run.trainer.accumulate), "B",
          "lower"}},
        {"divided_flops_share", {flops.divided / flops.all, "", "higher"}},
        {"rank_flops_share", {flops.of_rank / flops.all, "", "lower"}},
        {"memory_of_rank_bytes", {bytes, "B", "lower"}}};
    if (spread_ > 0) all["difference_of_equal_runs"] = {spread_, "", ""};
    all.merge(times_.metrics(alone_s, grid_.group(), parts_.ranks));
    return all;
  }

  std::string reference() const override {
    return fmt::format(
        "divided layers of {} in fp64 against the undivided ones: loss and all gradients; steps "
        "against plain accumulation of the same {} passes on the undivided network; sums of "
        "repeated steps over the ranks, of their own terms",
        make_compared_form(parts_.run.trainer, grid_.group().size()).descriptor,
        training_.replicas().passes_of_all());
  }

  std::string implementation() const override {
    const std::string by = training_.network().sum_execution().implementation;
    return fmt::format("layers divided among {} ranks, sums by {}", grid_.group().size(),
                       by.empty() || by.starts_with(',') ? "allreduce" + by : by);
  }

 private:
  const Graph& graph() const { return training_.network().graph(); }

  /// Rank 0 compares, with the parts of the ranks of its group. Collective.
  void compare_step(const SplitState& after, Verification& verification) {
    Communicator& ranks = parts_.ranks;
    const auto samples = allgather_lists(training_.sample_sums(), ranks);
    double loss = last_loss_;
    RankCalls(ranks).sum(std::span(&loss, 1));
    const DividedStep step{training_.gather(before_.values),
                           training_.gather(after.values),
                           before_.scale,
                           after.scale,
                           judged_.rate,
                           loss / ranks.size()};
    throw_on_all(ranks, [&] {
      if (ranks.rank() > 0) return;
      if (!oracle_)
        oracle_.emplace(parts_.run, parts_.whole.executor(), parts_.plugins,
                        training_.replicas().passes_of_all(), true);
      std::vector<std::uint64_t> sums(
          static_cast<std::size_t>(training_.replicas().passes_of_all()));
      const Verification judged = oracle_->judge(step, [&](std::int64_t pass) -> const Batch& {
        const Batch& batch = training_.batch(judged_, pass);
        sums[static_cast<std::size_t>(pass)] = SplitTraining::checksum_samples(batch);
        return batch;
      });
      compare_samples(samples, sums, verification);
      verification.checked += judged.checked;
      verification.wrong_elements += judged.wrong_elements;
      if (!judged.passed) verification.fail(judged.reason);
    });
  }

  /// Checks that each rank had the samples of its group's passes. `sums`: checksums of the passes
  /// of all groups.
  void compare_samples(const std::vector<std::vector<std::uint64_t>>& of_ranks,
                       const std::vector<std::uint64_t>& sums, Verification& verification) const {
    const auto passes = std::ssize(sums) / grid_.groups();
    const auto size = std::size(of_ranks) / static_cast<std::size_t>(grid_.groups());
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      const auto first = sums.begin() + static_cast<std::ptrdiff_t>(rank / size) * passes;
      if (!std::equal(of_ranks[rank].begin(), of_ranks[rank].end(), first, first + passes))
        verification.fail(
            fmt::format("rank {} had other samples in a step than its passes have", rank));
    }
  }

  /// Repeats the judged step from the state before it, and checks `nodes` random operations.
  void make_again(std::size_t nodes, Verification& verification) {
    training_.restore(before_);
    training_.network().executor().poison();
    SplitCheck check = random_nodes(nodes);
    training_.make(judged_, &check);
    training_.forget_runs();
    verification.checked += check.verification.checked;
    verification.wrong_elements += check.verification.wrong_elements;
    verification.fail(check.verification.reason);
    training_.replicas().judge_gradients(training_.network().executor(), training_.own_gradients(),
                                         verification);
  }

  /// Selects all nodes whose results are summed over the ranks, some other nodes, and the update.
  SplitCheck random_nodes(std::size_t nodes) {
    SplitCheck check;
    check.seed = parts_.run.trainer.seed + ++checks_ * 65537;
    check.nodes = random_check(graph(), nodes, check.seed).nodes;
    for (std::size_t i = 0; i < graph().nodes.size(); ++i)
      if (graph().nodes[i].summed != Graph::none) check.nodes.insert(i);
    check.verification.passed = true;
    return check;
  }

  std::vector<double> numbers(const StageState& state, std::size_t which,
                              const Parameter& parameter) const {
    const std::size_t size = size_of(graph().value(graph().*stage_values()[which]).type);
    std::vector<double> values(static_cast<std::size_t>(parameter.elements()));
    decode(graph().value(graph().*stage_values()[which]).type,
           state.values[which].data() + static_cast<std::size_t>(parameter.offset) * size, values);
    return values;
  }

  /// Compares two states after the same step: gradients, moments, and the changes of the weights.
  std::vector<Trainer::Difference> compare(const StageState& is, const StageState& should,
                                           Verification& verification) const {
    std::vector<Trainer::Difference> all;
    const Graph& graph = training_.network().graph();
    const double allowed = compute_repeat_tolerance(parts_.run.trainer.precision,
                                                    parts_.run.trainer.learning.narrow_gradients);
    const double u = unit_roundoff(graph.value(graph.weights).type);
    for (std::size_t i = 0; i < stage_values().size(); ++i) {
      const ValueIndex value = graph.*stage_values()[i];
      if (value == Graph::none || value == graph.stored) continue;
      for (const Parameter& parameter : graph.parameters) {
        std::vector<double> own = numbers(is, i, parameter), other = numbers(should, i, parameter);
        verification.checked += parameter.elements();
        double rounding = 0;  // relative to the 2-norm of the step
        if (value == graph.weights) {
          const std::vector<double> before = numbers(before_.values, i, parameter);
          double weights = 0, steps = 0;
          for (std::size_t e = 0; e < own.size(); ++e) {
            own[e] -= before[e];
            other[e] -= before[e];
            weights += before[e] * before[e];
            steps += other[e] * other[e];
          }
          rounding = steps > 0 ? 4 * u * std::sqrt(weights / steps) : 0;
        }
        all.push_back({relative_difference(own, other), allowed + rounding,
                       graph.value(value).name + " of " + parameter.name});
      }
    }
    return all;
  }

  /// Checks that parameters that all ranks have are still equal. Collective.
  void judge_copies(Verification& verification) {
    const Graph &graph = training_.network().graph(), &whole = parts_.whole.graph();
    const std::vector<double> all = read_values(training_.network().executor(), graph.weights);
    for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
      const Parameter& parameter = graph.parameters[i];
      if (parameter.dims != whole.parameters[i].dims) continue;
      const auto own = std::span(all).subspan(static_cast<std::size_t>(parameter.offset),
                                              static_cast<std::size_t>(parameter.elements()));
      std::vector<double> of_first(own.begin(), own.end());
      RankCalls(grid_.group()).broadcast(of_first);
      if (const double relative = relative_difference(own, of_first);
          !(relative <= compute_repeat_tolerance(parts_.run.trainer.precision)))
        verification.fail(
            fmt::format("{} differs by {:.3g} of its 2-norm from that of the first rank",
                        parameter.name, relative));
    }
    training_.replicas().judge_copies(training_.network().executor(), training_.running(),
                                      compute_repeat_tolerance(parts_.run.trainer.precision),
                                      verification);
  }

  const WayParts parts_;
  const Grid grid_;
  SplitTraining training_;
  SumTimes times_;
  std::optional<UndividedOracle> oracle_;
  double last_loss_ = 0;   ///< of the last step
  bool compared_ = false;  ///< with the undivided network
  double spread_ = 0;      ///< the largest difference between equal steps; 0: none
  SplitState before_;      ///< the judged step
  SplitTraining::Step judged_;
  std::uint64_t checks_ = 0;
};

/// Why a training cannot be divided in this way; "" if it can.
std::string why_not_divided(const WayParts& parts) {
  const TrainerSettings& settings = parts.run.trainer;
  const std::string way = "--parallel " + to_text(parts.run.parallel);
  if (std::string why = why_no_grid(parts.run.parallel, parts.ranks.size(), "part"); !why.empty())
    return why;
  if (parts.run.claims && parts.run.claims->at("wire") != "none")
    return way + " adds activations in their own type. Leave --wire out.";
  if (needs_trust(settings.learning.rule) || settings.learning.rule == UpdateRule::lamb)
    return fmt::format("{}: {} needs the norms of whole parameters. Use another --optimizer.", way,
                       name(settings.learning.rule));
  return "";
}

}  // namespace

Result<std::unique_ptr<ParallelWay>> make_split_way(const WayParts& parts) {
  if (std::string why = why_not_divided(parts); !why.empty()) return Unsupported{std::move(why)};
  const TrainerSettings& settings = parts.run.trainer;
  const std::string way = "--parallel " + to_text(parts.run.parallel);
  const Graph pass =
      make_gradient_graph(settings.network, 1, settings.precision, settings.learning);
  if (list_divided_layers(pass, static_cast<int>(parts.run.parallel.number)).empty())
    return Unsupported{fmt::format(
        "{}: no two layers follow each other whose features between them {} divides, with nothing "
        "between that reads all of them.",
        way, parts.run.parallel.number)};
  try {
    return std::make_unique<SplitWay>(parts);
  } catch (const UnsupportedCase& refusal) {
    return Unsupported{way + ": " + refusal.what()};
  }
}

}  // namespace assay
