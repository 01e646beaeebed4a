// Batch normalization, channels innermost: sums of src in stages, then one pass that computes dst,
// with addition and rectifier; backward likewise.

#include "kernels/norm/problem.hpp"

#include <fmt/format.h>

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/norm_items.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/norm/given_sums.hpp"

namespace assay::cuda {
namespace {

template <class Stored, int width>
class Normalization final : public OwnOperation {
 public:
  /// `has_sums`: the sums of forward_training are given (kernels/norm/given_sums.hpp).
  Normalization(const NormProblem& problem, bool has_sums)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        problem_(problem),
        has_sums_(has_sums),
        channels_(problem.shape().ic),
        shape_{problem.shape().per_channel(), channels_,
               choose_chunk(problem.shape().per_channel(), channels_ / width),
               Divisor(channels_ / width)} {
    lay_channels_last();
    for (const char* name : norm_sums_arguments)
      if (has_sums)
        arguments_.push_back(plain_tensor(name, Role::input, DataType::fp32, {channels_}));
    if (has_sums) execution_.numbers[norm_sums_given] = 1;
    // Sums, and four values of every channel.
    add_workspace(
        static_cast<std::size_t>(sums_size(shape_.chunks(), 2 * channels_) + 4 * channels_) *
        sizeof(double));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    sums_ = find<double>("workspace");
    factors_ = reinterpret_cast<Value*>(sums_ + sums_size(shape_.chunks(), 2 * channels_));
    if (problem_.direction() == NormDirection::backward) return backward();
    const auto* const src = find<const Stored>("src");
    if (has_sums_)
      start(NormGivenMoments<Value>{find<const float>(norm_sums_arguments[0]),
                                    find<const float>(norm_sums_arguments[1]), shape_.rows,
                                    find<Value>("mean"), find<Value>("variance"), factor()},
            channels_);
    else if (problem_.direction() == NormDirection::forward_training)
      start(NormMoments<Stored>{sums(NormMomentTerm<Stored, width>{src}), src, shape_,
                                find<Value>("mean"), find<Value>("variance"), factor()},
            channels_);
    else
      start(factor(), channels_);
    start(Normalize<Stored, width>{src, find<const Stored>("addend"), factors_,
                                   problem_.fusion() != NormFusion::none, shape_,
                                   find<Stored>("dst")},
          elements());
  }

  std::int64_t elements() const {
    return (shape_.rows + norm_rows<width> - 1) / norm_rows<width> * (channels_ / width);
  }
  NormFactor<Value> factor() const {
    return {find<const Value>("scale"),
            find<const Value>("variance"),
            find<const Value>("mean"),
            find<const Value>("shift"),
            norm_epsilon,
            channels_,
            factors_};
  }

  template <class Term>
  FewRows sums(const Term& term) {
    start(NormSums<Term>{term, shape_, sums_}, shape_.chunks() * (channels_ / width));
    return few(sums_, shape_.chunks(), 2 * channels_);
  }

  void backward() {
    const auto *const src = find<const Stored>("src"), *const diff = find<const Stored>("diff_dst"),
                      *const dst = find<const Stored>("dst");
    auto* const passed = find<Stored>("diff_addend");
    const NormGradientTerm<Stored, width> term{src, dst, diff, find<const Value>("mean"), passed};
    start(NormSlopes<Value>{sums(term), shape_, factor(), find<Value>("diff_scale"),
                            find<Value>("diff_shift")},
          channels_);
    // The gradient that has passed the rectifier is read again from where the first pass wrote it.
    const bool kept = passed != nullptr;
    start(NormGradients<Stored, width>{src, kept ? nullptr : dst, kept ? passed : diff, factors_,
                                       shape_, find<Stored>("diff_src")},
          elements());
  }

  NormProblem problem_;
  bool has_sums_;
  std::int64_t channels_;
  NormRows shape_;
  double* sums_ = nullptr;
  Value* factors_ = nullptr;
};

Result<std::unique_ptr<Operation>> make_norm(Device& device, const Problem& what,
                                             const Options& options, Communicator&) {
  const bool has_sums = !options.get(norm_sums, "").empty();
  if (const auto& norm = problem_cast<NormProblem>(what);
      has_sums && (norm.direction() != NormDirection::forward_training ||
                   storage(norm.precision()) == DataType::fp64))
    return Unsupported{fmt::format("cuda takes no sums for {} in {}", name(norm.direction()),
                                   name(norm.precision()))};
  return make_stored<NormProblem>(
      device, what, options,
      [&](const NormProblem& problem, auto stored) -> std::unique_ptr<Operation> {
        using Stored = decltype(stored);
        if (problem.shape().ic % widest<Stored> == 0)
          return std::make_unique<Normalization<Stored, widest<Stored>>>(problem, has_sums);
        return std::make_unique<Normalization<Stored, 1>>(problem, has_sums);
      });
}

const Maker add_norm{makers(), problem_kind<NormProblem>(), &make_norm, {"direct"}};

}  // namespace
}  // namespace assay::cuda
