#include "kernels/cuda/conv_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <span>

#include "kernels/conv/sums.hpp"
#include "kernels/cuda/conv_algorithms.hpp"
#include "kernels/cuda/conv_plans.hpp"
#include "kernels/cuda/trial_run.hpp"

namespace assay::cuda {
namespace {

/// An algorithm of cuDNN's older interface. Asks for its workspace, which is where cuDNN says no to
/// most of what it cannot do.
class AlgorithmWay final : public ConvWay {
 public:
  AlgorithmWay(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form,
               int algorithm)
      : call_(device, problem, form), algorithm_(algorithm) {
    implementation = fmt::format("{} {}", cudnn_library(), math_name(form.arithmetic.math));
    workspace = call_.workspace(algorithm);
  }

  void bind(void* const* tensors, void* workspace_at) override {
    tensors_ = {tensors[0], tensors[1], tensors[2]};
    workspace_ = workspace_at;
  }

  cudnnStatus_t run() override {
    return call_.run(algorithm_, tensors_.data(), workspace_, workspace);
  }

 private:
  ConvCall call_;
  int algorithm_;
  std::array<void*, 3> tensors_{};
  void* workspace_ = nullptr;
};

class Convolution final : public Operation {
 public:
  Convolution(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form,
              const std::string& algorithm, std::unique_ptr<ConvWay> way)
      : device_(device),
        precision_(problem.precision()),
        direction_(problem.direction()),
        products_(problem.flops() / 2 / static_cast<double>(form.specs[2].elements())),
        way_(std::move(way)),
        arguments_(form.specs) {
    executed_.algorithm = algorithm;
    executed_.implementation = way_->implementation;
    executed_.storage = std::string(name(storage(precision_)));
    if (precision_ == Precision::int8) executed_.storage = std::string(name(precision_));
    executed_.compute = form.arithmetic.compute;
    executed_.accumulate = form.arithmetic.accumulate;
    executed_.layout = form.layout;
    executed_.workspace_bytes = way_->workspace;
    if (way_->workspace > 0)
      arguments_.push_back(scratch_tensor("workspace", Role::workspace, way_->workspace));
    if (way_->nondeterministic) executed_.numbers["nondeterministic"] = 1;
    if (way_->winograd_points > 0)
      executed_.tile = way_->winograd_points - static_cast<int>(problem.shape().kh) + 1;
  }

  /// Runs once: why that is not what was asked for, or nothing. Throws what cuDNN says no to only
  /// now, and what is broken.
  std::optional<Unsupported> prove(CudnnDevice& device, const std::string& request) {
    return judge(trial_run(device, *this, request));
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    std::array<void*, 3> data{};
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = tensors[i]->data();
    way_->bind(data.data(), tensors.size() > data.size() ? tensors[data.size()]->data() : nullptr);
  }

  void run(Stream& stream) override {
    device_.use(stream);
    const cudnnStatus_t status = way_->run();
    if (status != CUDNN_STATUS_SUCCESS)
      throw CudnnError(fmt::format("{} ({})", executed_.algorithm, name(direction_)), status);
  }

  Executed executed() const override { return executed_; }

 private:
  /// Compares what ran with what was asked for.
  std::optional<Unsupported> judge(const std::optional<Seen>& seen) {
    const Family asked = family_of(executed_.algorithm);
    if (!seen && !way_->told) {
      // The bounds of fp32 exclude tf32, and integers that come out exactly exclude transforms: an
      // ok row proves both, while sums are not so long that the bounds are wide and no integers
      // are small enough. Of 16-bit tensors, and of which transform, errors tell too little.
      const bool shown = (precision_ == Precision::fp32 || precision_ == Precision::fp64 ||
                          precision_ == Precision::int8) &&
                         products_ < longest_shown;
      executed_.evidence = shown && asked == Family::direct ? "numerical" : "requested";
      return std::nullopt;
    }
    Seen known = seen ? *seen : *way_->told;
    if (seen && way_->told) {
      known.names = fmt::format("{}: {}", way_->told->names, seen->names);
      known.adds_parts |= way_->told->adds_parts;
    }
    executed_.implementation = known.names;
    const std::string why = note_kernels(known, precision_, executed_);
    // Tensor cores that an engine may use, as its note says, are no proof of tf32: its errors are.
    if (!seen) executed_.evidence = precision_ == Precision::tf32 ? "requested" : "library";
    if (known.adds_parts && size_of(storage(precision_)) == 2) {
      executed_.accumulate = executed_.storage;
      executed_.numbers[sums::partial_sums] = sums::most_parts;  // docs/method-conv.md
    }
    if (known.family != asked)
      return Unsupported{fmt::format("{} ran something else for {} ({})", cudnn_library(),
                                     executed_.algorithm, known.names)};
    if (!why.empty()) return Unsupported{fmt::format("{}: {}", cudnn_library(), why)};
    return std::nullopt;
  }

  static constexpr double longest_shown = 1e6;

  const CudnnDevice& device_;
  Precision precision_;
  ConvDirection direction_;
  double products_;  ///< in one output, in the mean
  std::unique_ptr<ConvWay> way_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
};

std::string no_memory_for(const Asked& asked, const char* what) {
  return fmt::format(
      "{} offers no {} in this arithmetic that fits into the memory that is free, {}",
      cudnn_library(), what, gib(asked.place.memory_available()));
}

/// An operation whose way is settled and has run once; or why there is none.
template <class MakeWay>
Made settled(const Asked& asked, const std::string& algorithm, std::size_t most_workspace,
             const MakeWay& make_way) {
  try {
    std::unique_ptr<ConvWay> way = make_way();
    if (way->workspace > most_workspace) return Unsupported{no_memory_for(asked, "plan")};
    auto operation = std::make_unique<Convolution>(asked.place, asked.problem, asked.form,
                                                   algorithm, std::move(way));
    if (auto refusal = operation->prove(asked.place, asked.text)) return std::move(*refusal);
    return operation;
  } catch (const CudnnError& error) {
    if (!not_supported(error.status)) throw;
    return Unsupported{fmt::format("{}: {}", cudnn_library(), error.words)};
  }
}

/// Whether sums are split into parts that are added in 16 bits.
bool adds_parts(const Operation& operation) {
  return operation.executed().numbers.contains(sums::partial_sums);
}

/// Duration of the kernels; 0: unknown.
double seconds_of(const Operation& operation) {
  const Executed executed = operation.executed();
  const auto found = executed.numbers.find("kernels_s");
  return found == executed.numbers.end() ? 0 : found->second;
}

/// An operation that may be taken, and the duration of its kernels.
struct Timed {
  std::unique_ptr<Operation> operation;
  double seconds = 0;
};

/// Whether `a` is better than `b`, which the library proposes first: false if a duration is
/// unknown. Where one of them adds parts of sums in 16 bits it must be faster by more than a trace
/// may vary.
bool is_better(const Timed& a, const Timed& b) {
  if (a.seconds <= 0 || b.seconds <= 0) return false;
  const bool parts = adds_parts(*a.operation);
  if (parts == adds_parts(*b.operation)) return a.seconds < b.seconds;
  return parts ? 1.05 * a.seconds < b.seconds : a.seconds <= 1.05 * b.seconds;
}

/// The first algorithm of the older interface that keeps to the form's arithmetic; of those that
/// add parts of sums in 16 bits only what is faster than all others.
Made best_algorithm(const Asked& asked) {
  std::string why = no_memory_for(asked, "algorithm");
  const ConvCall call(asked.place, asked.problem, asked.form);
  Timed first;
  for (const ConvChoice& offer :
       fitting(call.offers(), asked.form.arithmetic.math, asked.place.memory_available())) {
    Made made = by_algorithm(asked, offer.algorithm);
    if (auto* refusal = std::get_if<Unsupported>(&made)) {
      why = std::move(refusal->reason);
      continue;
    }
    Timed next{std::move(std::get<std::unique_ptr<Operation>>(made))};
    next.seconds = seconds_of(*next.operation);
    if (!adds_parts(*next.operation) && (!first.operation || is_better(next, first)))
      return std::move(next.operation);
    if (!first.operation) first = std::move(next);
  }
  if (first.operation) return std::move(first.operation);
  return Unsupported{std::move(why)};
}

constexpr std::size_t most_plans = 4;  // that are tried: the first is within 3 % of the best

/// Puts the plans of an algorithm that run into `slots`, in the order of the heuristics; those that
/// add parts of sums in 16 bits only where there are no others. Of unknown durations one suffices.
void make_plans(const Asked& asked, const std::string& algorithm, std::span<Timed> slots,
                std::string& why) {
  const auto graph = std::make_shared<const ConvGraph>(GraphTarget{asked.place.cudnn()},
                                                       asked.problem, asked.form);
  const std::vector<ConvEngine> engines = graph->engines();
  std::size_t made = 0;
  for (const bool parts : {false, true}) {
    for (const ConvEngine& engine : engines) {
      if (engine.adds_parts() != parts ||
          !keeps_to(engine, asked.problem.precision(), family_of(algorithm)))
        continue;
      Made plan = settled(asked, algorithm, asked.place.memory_available(),
                          [&] { return plan_way(asked.place.cudnn(), graph, engine); });
      if (auto* refusal = std::get_if<Unsupported>(&plan)) {
        why = std::move(refusal->reason);
        continue;
      }
      Timed& next = slots[made++];
      next.operation = std::move(std::get<std::unique_ptr<Operation>>(plan));
      next.seconds = seconds_of(*next.operation);
      if (made == slots.size() || next.seconds <= 0) return;
    }
    if (made > 0) return;
  }
}

}  // namespace

Made by_algorithm(const Asked& asked, int algorithm) {
  return settled(
      asked, conv_algorithm_names(asked.problem.direction())[static_cast<std::size_t>(algorithm)],
      std::numeric_limits<std::size_t>::max(), [&] {
        return std::make_unique<AlgorithmWay>(asked.place, asked.problem, asked.form, algorithm);
      });
}

Made best_of(const Asked& asked, bool older, const std::vector<std::string>& graphs) {
  std::vector<Timed> all(1 + most_plans * graphs.size());
  std::string why;
  std::exception_ptr failure;
  const auto attempt = [&](const auto& body) {
    try {
      body();
    } catch (const CudnnError& error) {
      if (!not_supported(error.status) && !failure) failure = std::current_exception();
      if (why.empty()) why = fmt::format("{}: {}", cudnn_library(), error.words);
    } catch (const CaseError&) {
      if (!failure) failure = std::current_exception();
    }
  };
  if (older)
    attempt([&] {
      Made made = best_algorithm(asked);
      if (auto* refusal = std::get_if<Unsupported>(&made)) {
        why = std::move(refusal->reason);
        return;
      }
      all[0].operation = std::move(std::get<std::unique_ptr<Operation>>(made));
      all[0].seconds = seconds_of(*all[0].operation);
    });
  const bool decided = all[0].operation && all[0].seconds <= 0;
  for (std::size_t i = 0; i < graphs.size() && !decided; ++i)
    attempt([&] {
      std::string refused = no_memory_for(asked, "plan");
      make_plans(asked, graphs[i], std::span(all).subspan(1 + most_plans * i, most_plans), refused);
      if (why.empty()) why = std::move(refused);
    });

  std::vector<double> seconds;
  for (const Timed& timed : all)
    seconds.push_back(timed.operation ? timed.seconds : std::numeric_limits<double>::infinity());
  asked.ranks.allreduce_max(seconds);
  Timed* best = nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].operation || std::isinf(seconds[i])) continue;
    all[i].seconds = seconds[i];
    if (best == nullptr || is_better(all[i], *best)) best = &all[i];
  }
  if (best != nullptr) return std::move(best->operation);
  if (failure) std::rethrow_exception(failure);
  if (std::ranges::any_of(all, [](const Timed& timed) { return timed.operation != nullptr; }))
    why = "no algorithm or plan runs on all ranks";
  return Unsupported{std::move(why)};
}

}  // namespace assay::cuda
