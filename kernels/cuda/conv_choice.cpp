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

class Convolution final : public BoundOperation {
 public:
  Convolution(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form,
              const std::string& algorithm, std::unique_ptr<ConvWay> way)
      : BoundOperation(form.specs),
        device_(device),
        precision_(problem.precision()),
        direction_(problem.direction()),
        products_(problem.flops() / 2 / static_cast<double>(form.specs[2].elements())),
        way_(std::move(way)) {
    execution_.algorithm = algorithm;
    execution_.implementation = way_->implementation;
    execution_.storage = std::string(name(storage(precision_)));
    if (precision_ == Precision::int8) execution_.storage = std::string(name(precision_));
    execution_.compute = form.arithmetic.compute;
    execution_.accumulate = form.arithmetic.accumulate;
    execution_.layout = form.layout;
    execution_.workspace_bytes = way_->workspace;
    if (way_->workspace > 0)
      arguments_.push_back(bytes_tensor("workspace", Role::workspace, way_->workspace));
    if (way_->nondeterministic) execution_.numbers["nondeterministic"] = 1;
    if (way_->winograd_points > 0)
      execution_.tile = way_->winograd_points - static_cast<int>(problem.shape().kh) + 1;
  }

  /// Runs once. Returns why the run was not the requested one, or nothing. Throws if cuDNN refuses
  /// only now, or if something fails. `timed`: sets seconds(), if there is a clock.
  std::optional<Unsupported> prove(CudnnDevice& device, const std::string& request, bool timed) {
    const std::optional<KernelMeaning> seen =
        trial_run(device, *this, request, timed ? &seconds_ : nullptr);
    recorded_ = seen.has_value();
    if (seen) seconds_ = seen->seconds;
    return judge(seen);
  }
  /// The same operation for other tensors. It counts as proven, like this one.
  std::unique_ptr<Convolution> again() const {
    auto other = std::make_unique<Convolution>(*this);
    other->way_ = way_->again();
    return other;
  }
  /// Seconds of a run; 0: unknown.
  double seconds() const { return seconds_; }
  /// True if these are the seconds of its kernels alone.
  bool recorded() const { return recorded_; }
  std::string way() const { return execution_.algorithm + way_->implementation; }
  void note(const char* name, double value) { execution_.numbers[name] = value; }
  /// Names the candidates that failed before.
  void note_failed(const std::vector<std::string>& names) {
    execution_.implementation += fmt::format(", without {}, which failed", fmt::join(names, ", "));
  }

  void bind(std::span<Tensor* const> tensors) override {
    std::vector<void*> data;
    for (Tensor* const tensor : tensors) data.push_back(tensor->data());
    way_->bind(data.data(), way_->workspace > 0 ? data.back() : nullptr);
  }

  void run(Stream& stream) override {
    device_.use(stream);
    const cudnnStatus_t status = way_->run();
    if (status != CUDNN_STATUS_SUCCESS)
      throw CudnnError(fmt::format("{} ({})", execution_.algorithm, name(direction_)), status);
  }

 private:
  /// Compares the kernels that ran with the request.
  std::optional<Unsupported> judge(const std::optional<KernelMeaning>& seen) {
    const Family family = find_family(execution_.algorithm);
    if (!seen && !way_->meaning) {
      // The bounds of fp32 exclude tf32, and exact integers exclude transforms, so an ok row proves
      // both. This fails for long sums, because the bounds become wide and no integers are small
      // enough. Errors tell too little about the arithmetic of 16-bit tensors, and about the kind
      // of transform.
      const bool shown = (precision_ == Precision::fp32 || precision_ == Precision::fp64 ||
                          precision_ == Precision::int8) &&
                         products_ < longest_shown;
      execution_.evidence = shown && family == Family::direct ? "numerical" : "requested";
      return std::nullopt;
    }
    KernelMeaning known = seen ? *seen : *way_->meaning;
    if (seen && way_->meaning) {
      known.names = fmt::format("{}: {}", way_->meaning->names, seen->names);
      // The engine's note covers everything that the engine may do. Kernel names may not tell the
      // type of an addition: a kernel may contain a reduction that its name does not mention, and
      // only the library knows. So the note alone is evidence for the wider bound, unless a kernel
      // ran that adds parts stored in fp32: no kernel has two ways to add its parts.
      known.adds_parts |= way_->meaning->adds_parts && !seen->adds_in_fp32;
    }
    execution_.implementation = known.names;
    const std::string why = note_kernels(known, precision_, execution_);
    // The note says that an engine may use tensor cores. This does not prove tf32; its errors do.
    if (!seen) execution_.evidence = precision_ == Precision::tf32 ? "requested" : "library";
    if (known.adds_parts && size_of(storage(precision_)) == 2) {
      execution_.accumulate = execution_.storage;
      execution_.numbers[sums::partial_sums] = sums::most_parts;  // docs/method-conv.md
    }
    if (known.family != family)
      return Unsupported{fmt::format("{} ran something else for {} ({})", cudnn_library(),
                                     execution_.algorithm, known.names)};
    if (!why.empty()) return Unsupported{fmt::format("{}: {}", cudnn_library(), why)};
    return std::nullopt;
  }

  static constexpr double longest_shown = 1e6;

  const CudnnDevice& device_;
  Precision precision_;
  ConvDirection direction_;
  double products_;               ///< in one output, on average
  std::shared_ptr<ConvWay> way_;  ///< not shared with another operation
  double seconds_ = 0;
  bool recorded_ = false;
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
    if (auto refusal = operation->prove(conv_request.place, conv_request.text, conv_request.timed))
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
  std::unique_ptr<Convolution> operation;
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

constexpr std::size_t most_plans = 4;  // number of plans to try: the first is within 3 % of the
                                       // best

/// Finds the best candidate. All ranks try the same candidates in the same order, and agree on each
/// outcome before the next trial. So all ranks make equally many collective calls, even if one rank
/// fails, and choose the same candidate.
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
      const Trial trial = attempt(candidate);
      if (trial == Trial::broke || (trial == Trial::best && !best_.parts) || decided()) break;
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
      const Trial trial = attempt(candidate);
      if (trial == Trial::broke) break;
      if (trial != Trial::refused) ++ran;
    }
    if (why_.empty()) why_ = refused_;
  }

  /// True if the choice depends on the request alone: nothing failed, and nothing was left out for
  /// lack of memory.
  bool is_whole() const { return whole_; }

  /// Throws the first failure if nothing runs.
  OperationResult take() {
    if (best_.operation) {
      if (compared_ > 1)
        best_.operation->note(best_.recorded ? "chosen_by_trace" : "chosen_by_events", compared_);
      if (!failed_.empty()) best_.operation->note_failed(failed_);
      return std::move(best_.operation);
    }
    if (failure_) std::rethrow_exception(failure_);
    return Unsupported{std::move(why_)};
  }

 private:
  enum class Trial { refused, broke, ran, best };
  using Candidates = Result<std::vector<Candidate>>;

  /// The first operation suffices if durations are unknown.
  bool decided() const { return best_.operation && best_.seconds <= 0; }

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

  /// Runs a candidate on all ranks, and keeps it if it is the best so far.
  Trial attempt(const Candidate& candidate) {
    Timed next;
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
    if (next.seconds > 0 &&
        (!best_.operation || (best_.seconds > 0 && best_.recorded == next.recorded)))
      ++compared_;
    if (best_.operation && !is_better(next, best_)) return Trial::ran;
    best_ = std::move(next);
    return Trial::best;
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
  Timed best_;
  bool whole_ = true;
  int compared_ = 0;                 ///< number of operations whose durations are known by the best
                                     ///< one's clock
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
  std::unique_ptr<Convolution>& kept = chosen[{&conv_request.place, conv_request.text}];
  // Some ranks may have chosen before together with other ranks, or may lack the memory now.
  const std::string own = kept && has_room(conv_request.place, *kept) ? kept->way() : "";
  const std::vector<std::string> all = conv_request.ranks.allgather(own);
  if (!own.empty() && std::ranges::count(all, own) == std::ssize(all)) return kept->again();
  Choice choice(conv_request);
  if (older) choice.try_algorithms();
  for (const std::string& graph : graphs) choice.try_plans(graph);
  OperationResult best = choice.take();
  const auto* const operation = std::get_if<std::unique_ptr<Operation>>(&best);
  if (operation != nullptr && choice.is_whole())
    kept = static_cast<const Convolution&>(**operation).again();  // by settle_operation()
  return best;
}

}  // namespace assay::cuda
