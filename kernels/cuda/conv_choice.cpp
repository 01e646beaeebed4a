#include "kernels/cuda/conv_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "kernels/conv/bounds.hpp"
#include "kernels/cuda/conv_algorithms.hpp"
#include "kernels/cuda/conv_operation.hpp"
#include "kernels/cuda/conv_plans.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// An algorithm of cuDNN's older interface. The constructor queries its workspace, because this
/// query refuses most of the unsupported cases.
class AlgorithmWay final : public ConvWay {
 public:
  AlgorithmWay(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form,
               int algorithm)
      : call_(std::make_shared<const ConvCall>(device, problem, form)), algorithm_(algorithm) {
    implementation = fmt::format("{} {}", cudnn_library(), math_name(form.arithmetic.math));
    workspace = call_->workspace(algorithm);
    nondeterministic = adds_in_any_order(problem.direction(), algorithm);
  }

  std::unique_ptr<ConvWay> again() const override { return std::make_unique<AlgorithmWay>(*this); }

  void bind(void* const* tensors, void* workspace_at) override {
    tensors_ = {tensors[0], tensors[1], tensors[2]};
    workspace_ = workspace_at;
  }

  cudnnStatus_t run() override {
    return call_->run(algorithm_, tensors_.data(), workspace_, workspace);
  }

 private:
  std::shared_ptr<const ConvCall> call_;
  int algorithm_;
  std::array<void*, 3> tensors_{};
  void* workspace_ = nullptr;
};

std::string no_memory_for(const ConvRequest& conv_request, const char* what) {
  return fmt::format(
      "{} offers no {} in this arithmetic that fits into the memory that is free, {}",
      cudnn_library(), what, gib(conv_request.place.memory_available()));
}

/// The result of make(), or the library's reason for not supporting it.
template <class Make>
auto try_to_make(const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const CudnnError& error) {
    if (!not_supported(error.status)) throw;
    return Unsupported{fmt::format("{}: {}", cudnn_library(), error.words)};
  }
}

/// An operation whose algorithm is settled and that has run once; or why there is none.
template <class MakeWay>
OperationResult settle_operation(const ConvRequest& conv_request, const std::string& algorithm,
                                 std::size_t most_workspace, const MakeWay& make_way) {
  return try_to_make([&]() -> OperationResult {
    std::unique_ptr<ConvWay> way = make_way();
    if (way->workspace > most_workspace) return Unsupported{no_memory_for(conv_request, "plan")};
    auto operation = std::make_unique<Convolution>(conv_request.place, conv_request.problem,
                                                   conv_request.form, algorithm, std::move(way));
    // The oracle would refuse its results, correct or not.
    if (auto why = convolution::explain_unjudged(conv_request.problem, operation->execution()))
      return Unsupported{std::move(*why)};
    if (auto refusal =
            operation->prove(conv_request.place, conv_request.text(), conv_request.timed))
      return std::move(*refusal);
    return operation;
  });
}

/// A way that may be tried.
struct Candidate {
  std::string name;    ///< the same on all ranks, and unique in a list
  bool parts = false;  ///< according to its name: sums are split into parts that are added in 16
                       ///< bits
  std::function<OperationResult()> make{};
};

/// An operation that has run on all ranks.
struct Timed {
  std::string list;  ///< its graph, or "" for the older interface
  std::unique_ptr<Convolution> operation{};
  double seconds = 0;     ///< on the slowest rank; 0: unknown
  bool recorded = false;  ///< true: on all ranks these are seconds of its kernels; false: on some
                          ///< rank they are from events
  bool parts = false;     ///< on some rank sums are split into parts that are added in 16 bits
};

/// True if `a` is better than `b`, which the library proposes first: faster by more than times may
/// vary. False if a duration is unknown, or if the durations come from two clocks.
bool is_better(const Timed& a, const Timed& b) {
  if (a.seconds <= 0 || b.seconds <= 0 || a.recorded != b.recorded) return false;
  if (a.parts == b.parts) return 1.03 * a.seconds < b.seconds;
  return a.parts ? 1.05 * a.seconds < b.seconds : a.seconds <= 1.05 * b.seconds;
}

/// Plans of a graph that are tried. The first of the heuristics is within 3 % of the best.
constexpr std::size_t most_plans = 4;

/// Finds the best candidate. All ranks try the same candidates in the same order, and agree on each
/// outcome before the next trial. So all ranks make equally many collective calls, even if one rank
/// fails, and choose the same candidate. Then the candidates that have run are timed together.
class Choice {
 public:
  explicit Choice(const ConvRequest& conv_request) : request_(conv_request) {
    request_.timed = true;
  }

  /// Tries the algorithms of the older interface that keep the form's arithmetic, until the first
  /// one runs. Algorithms that add parts in 16 bits are taken only if they are faster than all
  /// others.
  void try_algorithms() {
    refused_ = no_memory_for(request_, "algorithm");
    for (const Candidate& candidate : common([this] { return algorithms(); })) {
      const Trial trial = attempt(candidate, "");
      if (trial == Trial::broke || (trial == Trial::best && !tried_.back().parts) || decided())
        break;
    }
    if (why_.empty()) why_ = refused_;
  }

  /// Tries the first plans of an algorithm; plans that add parts in 16 bits only if no other plan
  /// runs.
  void try_plans(const std::string& algorithm) {
    if (decided()) return;
    refused_ = no_memory_for(request_, "plan");
    std::size_t ran = 0;
    for (const Candidate& candidate : common([&] { return plans(algorithm); })) {
      if (ran == most_plans || (candidate.parts && ran > 0) || decided()) break;
      const Trial trial = attempt(candidate, algorithm);
      if (trial == Trial::broke) break;
      if (trial != Trial::refused) ++ran;
    }
    if (why_.empty()) why_ = refused_;
  }

  /// True if the choice depends on the request alone: nothing failed, and nothing was left out for
  /// lack of memory.
  bool is_whole() const { return whole_; }

  /// Times the candidates that have run in rounds. If that fails, the times of their first runs
  /// count: the results of each candidate are right.
  void time_again() {
    if (tried_.empty() || decided()) return;
    std::vector<Contender> all;
    for (const Timed& each : tried_)
      if (each.seconds > 0)
        all.push_back(
            {each.operation.get(), each.operation->recorded(), each.operation->seconds()});
    try {
      time_in_rounds(request_.place, all, request_.text());
    } catch (const std::exception&) {
      whole_ = false;
    }
    std::vector<double> seconds;
    for (const Contender& each : all) {
      static_cast<Convolution*>(each.operation)->note_seconds(each.seconds);
      seconds.push_back(each.seconds);
    }
    request_.ranks.allreduce_max(seconds);
    auto next = seconds.begin();
    for (Timed& each : tried_)
      if (each.seconds > 0) each.seconds = *next++;
  }

  /// The best one of a list, "": of all. Null if none runs.
  std::unique_ptr<Convolution> copy_best(const std::string& list) const {
    const Timed* const best = find_best(list);
    if (best == nullptr) return nullptr;
    auto copy = best->operation->again();
    const auto compared = std::ranges::count_if(tried_, [&](const Timed& each) {
      return is_of(each, list) && each.seconds > 0 && each.recorded == best->recorded;
    });
    if (compared > 1)
      copy->note(best->recorded ? "chosen_by_trace" : "chosen_by_events",
                 static_cast<double>(compared));
    if (!failed_.empty()) copy->note_failed(failed_);
    return copy;
  }

  /// Throws the first failure if nothing runs.
  OperationResult take() {
    if (auto best = copy_best("")) return best;
    if (failure_) std::rethrow_exception(failure_);
    return Unsupported{std::move(why_)};
  }

 private:
  enum class Trial { refused, broke, ran, best };
  using Candidates = Result<std::vector<Candidate>>;

  /// The first operation suffices if durations are unknown.
  bool decided() const { return !tried_.empty() && tried_.front().seconds <= 0; }

  static bool is_of(const Timed& each, const std::string& list) {
    return list.empty() || each.list == list;
  }

  /// Among those that have run.
  const Timed* find_best(const std::string& list) const {
    const Timed* best = nullptr;
    for (const Timed& each : tried_)
      if (is_of(each, list) && (best == nullptr || is_better(each, *best))) best = &each;
    return best;
  }

  Candidates algorithms() {
    std::vector<Candidate> all;
    for (const ConvChoice& offer :
         fitting(ConvCall(request_.place, request_.problem, request_.form).offers(),
                 request_.form.arithmetic.math, std::numeric_limits<std::size_t>::max())) {
      const std::string& name = list_algorithm_names(
          request_.problem.direction())[static_cast<std::size_t>(offer.algorithm)];
      // An algorithm is offered once in each arithmetic.
      if (std::ranges::find(all, name, &Candidate::name) == all.end())
        all.push_back({name, false, [this, offer]() -> OperationResult {
                         if (offer.workspace <= request_.place.memory_available())
                           return by_algorithm(request_, offer.algorithm);
                         whole_ = false;
                         return Unsupported{no_memory_for(request_, "algorithm")};
                       }});
    }
    return all;
  }

  Candidates plans(const std::string& algorithm) {
    const auto graph = std::make_shared<const ConvGraph>(GraphTarget{request_.place.cudnn()},
                                                         request_.problem, request_.form);
    const auto engines = std::make_shared<const std::vector<ConvEngine>>(graph->engines());
    std::vector<Candidate> all;
    for (const bool parts : {false, true})
      for (const ConvEngine& engine : *engines)
        if (engine.adds_parts() == parts &&
            keeps_to(engine, request_.problem.precision(), find_family(algorithm)))
          all.push_back({engine.name + (parts ? parts_mark : ""), parts,
                         [this, algorithm, graph, engines, &engine] {
                           const std::size_t room = request_.place.memory_available();
                           return settle_operation(request_, algorithm, room, [&] {
                             auto way = plan_way(request_.place.cudnn(), graph, engine);
                             whole_ = whole_ && way->workspace <= room;
                             return way;
                           });
                         }});
    return all;
  }

  /// The candidates that are in the lists of all ranks, in the order of the first rank.
  std::vector<Candidate> common(const std::function<Candidates()>& list) {
    std::vector<Candidate> mine, kept;
    try {
      Candidates candidates = on_all(request_.ranks, [&] { return try_to_make(list); });
      if (auto* refusal = std::get_if<Unsupported>(&candidates)) {
        refused_ = std::move(refusal->reason);
        return {};
      }
      mine = std::move(std::get<std::vector<Candidate>>(candidates));
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      return {};
    }
    std::string names;
    for (const Candidate& candidate : mine) names += candidate.name + '\n';
    const std::vector<std::string> all = request_.ranks.allgather(names);
    std::istringstream lines(all.front());
    for (std::string name; std::getline(lines, name);)
      if (std::ranges::all_of(all, [&](const std::string& of_rank) {
            return ('\n' + of_rank).find('\n' + name + '\n') != std::string::npos;
          }))
        kept.push_back(std::move(*std::ranges::find(mine, name, &Candidate::name)));
    if (kept.empty() && !mine.empty()) refused_ = "no algorithm or plan is there on all ranks";
    return kept;
  }

  /// Runs a candidate on all ranks, and keeps it. Tells if it is the best so far.
  Trial attempt(const Candidate& candidate, const std::string& list) {
    Timed next{list};
    try {
      OperationResult operation = on_all(request_.ranks, candidate.make);
      if (auto* refusal = std::get_if<Unsupported>(&operation)) {
        refused_ = std::move(refusal->reason);
        return Trial::refused;
      }
      next.operation.reset(static_cast<Convolution*>(
          std::get<std::unique_ptr<Operation>>(operation).release()));  // by settle_operation()
    } catch (const std::exception& error) {
      return keep_failure(candidate, error);
    }
    const double seconds = next.operation->seconds();
    double all[] = {seconds, seconds > 0 ? 0.0 : 1.0,
                    next.operation->execution().numbers.contains(sums::partial_sums) ? 1.0 : 0.0,
                    next.operation->recorded() ? 0.0 : 1.0};
    request_.ranks.allreduce_max(all);
    next.seconds = all[1] > 0 ? 0 : all[0];
    next.parts = all[2] > 0;
    next.recorded = all[3] == 0;
    tried_.push_back(std::move(next));
    return find_best("") == &tried_.back() ? Trial::best : Trial::ran;
  }

  /// The library may fail to compile the code of one engine. Other engines may still run, unless
  /// the GPU is lost or the error does not come from a library.
  Trial keep_failure(const Candidate& candidate, const std::exception& error) {
    const bool of_library = dynamic_cast<const CaseError*>(&error) != nullptr;
    if (!failure_)
      failure_ = of_library ? std::make_exception_ptr(
                                  CaseError(fmt::format("{}: {}", candidate.name, error.what())))
                            : std::current_exception();
    failed_.push_back(candidate.name);
    whole_ = false;
    double ends = of_library && is_usable() ? 0 : 1;
    request_.ranks.allreduce_max(std::span(&ends, 1));
    return ends > 0 ? Trial::broke : Trial::refused;
  }

  static constexpr const char* parts_mark = " adds parts";

  ConvRequest request_;
  std::vector<Timed> tried_;
  bool whole_ = true;
  std::string why_, refused_;        ///< reason of the first list; last refusal in the current list
  std::exception_ptr failure_;       ///< the first
  std::vector<std::string> failed_;  ///< names of the candidates that failed
};

/// True if there is memory for the workspace of an operation.
bool has_room(const CudnnDevice& device, const Operation& operation) {
  std::size_t workspace = 0;
  for (const TensorSpec& spec : operation.arguments())
    if (spec.role == Role::workspace) workspace += spec.bytes;
  return workspace <= device.memory_available();
}

}  // namespace

OperationResult by_algorithm(const ConvRequest& conv_request, int algorithm) {
  return settle_operation(
      conv_request,
      list_algorithm_names(conv_request.problem.direction())[static_cast<std::size_t>(algorithm)],
      std::numeric_limits<std::size_t>::max(), [&] {
        return std::make_unique<AlgorithmWay>(conv_request.place, conv_request.problem,
                                              conv_request.form, algorithm);
      });
}

OperationResult choose_best(const ConvRequest& conv_request, bool older,
                            const std::vector<std::string>& graphs) {
  // Equal convolutions of a network share one choice. It is never destroyed, because the library
  // may end before.
  static auto& chosen =
      *new std::map<std::pair<const Device*, std::string>, std::unique_ptr<Convolution>>;
  const auto kept_for = [&](const std::string& algorithm) -> std::unique_ptr<Convolution>& {
    return chosen[{&conv_request.place, algorithm + ' ' + conv_request.what}];
  };
  std::unique_ptr<Convolution>& kept = kept_for(conv_request.algorithm);
  // Some ranks may have chosen before together with other ranks, or may lack the memory now.
  const std::string own = kept && has_room(conv_request.place, *kept) ? kept->way() : "";
  const std::vector<std::string> all = conv_request.ranks.allgather(own);
  if (!own.empty() && std::ranges::count(all, own) == std::ssize(all)) return kept->again();
  Choice choice(conv_request);
  if (older) choice.try_algorithms();
  for (const std::string& graph : graphs) choice.try_plans(graph);
  choice.time_again();
  if (choice.is_whole()) {
    for (const std::string& graph : graphs) kept_for(graph) = choice.copy_best(graph);
    kept = choice.copy_best("");
  }
  return choice.take();
}

}  // namespace assay::cuda
