// The fp64 reference of a loss. The numbers of all samples are computed once for each draw of
// inputs. Bounds: docs/method-training.md.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "core/base/place.hpp"
#include "kernels/loss/formula_items.hpp"
#include "kernels/loss/problem.hpp"
#include "kernels/oracle/channel_sums.hpp"
#include "kernels/oracle/device_sums.hpp"

namespace assay {
namespace {

using loss::Row;
using sums::Approximate;

class LossOracle final : public WholeOracle {
 public:
  explicit LossOracle(const LossProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  /// Labels.
  int full_magnitude(const TensorSpec& argument) const override {
    return argument.type == DataType::s32 ? static_cast<int>(problem_.shape().classes - 1) : 0;
  }
  bool nonnegative(const TensorSpec& argument) const override { return argument.name == "labels"; }

  void expect(const TensorSpec& output, const Inputs& inputs, const Execution& execution, bool,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Cache& known = this->known(inputs, execution);
    const sums::Bounds bounds = this->bounds(output, execution);
    const loss::Loss own_loss = this->loss(execution);
    if (output.name == "diff_logits")
      return sums::expect_elements(loss::DiffLogits{own_loss, bounds},
                                   sums::find_values({"logits"}, inputs), known.table, indices,
                                   expected);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t at = place(indices[i]);
      const auto [value, error] = output.name == "diff_bias" ? known.of_classes[at]
                                  : output.name == "losses"  ? own_loss.loss(row(at))
                                                             : own_loss.correct(row(at));
      expected[i] = output.name == "correct" ? Expected{value, error, error}
                                             : bounds.rounded(value, error, error);
    }
  }

  std::optional<ElementFormula> formula(const TensorSpec& output, const Inputs& inputs,
                                        const Execution& execution, bool) const override {
    if (output.name != "diff_logits") return std::nullopt;
    return make_formula(loss::DiffLogits{loss(execution), bounds(output, execution)}, {"logits"},
                        known(inputs, execution).table);
  }

 private:
  struct Cache {
    std::vector<double> table;            ///< of the formulas: biases, then of each sample a Row
    std::vector<Approximate> of_classes;  ///< the gradient of the bias
  };

  double roundoff(const Execution& execution) const {
    return sums::ErrorModel::accumulator_roundoff(problem_.precision(), execution);
  }
  sums::Bounds bounds(const TensorSpec& output, const Execution& execution) const {
    return {problem_.precision(), execution, output.type, place(output.elements())};
  }
  loss::Loss loss(const Execution& execution) const {
    return {problem_.shape().classes, problem_.shape().smoothing, roundoff(execution)};
  }
  Row& row(std::size_t n) const {
    return reinterpret_cast<Row*>(known_.table.data() + problem_.shape().classes)[n];
  }

  const Cache& known(const Inputs& inputs, const Execution& execution) const {
    std::vector<double> key = sums::fingerprint(tensors_, inputs);
    key.push_back(roundoff(execution));
    if (key == key_) return known_;
    key_.clear();  // until they are complete
    const auto samples = place(problem_.shape().samples), classes = place(problem_.shape().classes);
    const bool training = problem_.pass() == LossPass::training;
    known_.table.assign(classes + samples * place(loss::numbers_of_row), 0);
    if (problem_.shape().biased)
      inputs.find("bias")->second.fill(0, std::span(known_.table).first(classes));
    std::vector<double> labels(samples);
    inputs.find("labels")->second.fill(0, labels);
    for (const double label : labels)
      if (!(label >= 0 && label < static_cast<double>(classes)))
        throw std::invalid_argument("a label is not a valid class");
    const std::vector<Expected> parts = row_parts(inputs, loss(execution), labels);
    const double factor = training ? inputs.find("scale")->second(0) : 0;
    for (std::size_t n = 0; n < samples; ++n) {
      const Expected &maxima = parts[2 * n], &totals = parts[2 * n + 1];
      row(n) = {maxima.value,     maxima.max_bound,
                maxima.rms_bound, totals.value,
                totals.max_bound, totals.rms_bound,
                labels[n],        factor / static_cast<double>(samples)};
    }
    if (training && problem_.shape().biased) add_gradients(inputs, execution);
    key_ = std::move(key);
    return known_;
  }

  /// The numbers of loss::RowParts of all samples. The device computes them if it has the code.
  std::vector<Expected> row_parts(const Inputs& inputs, const loss::Loss& own_loss,
                                  const std::vector<double>& labels) const {
    const loss::RowParts code{own_loss};
    const std::int64_t samples = problem_.shape().samples, classes = own_loss.classes;
    std::vector<double> table = known_.table;
    std::copy(labels.begin(), labels.end(), table.begin() + classes);
    const std::vector<const Values*> logits = sums::find_values({"logits"}, inputs);
    const auto here = [&](std::int64_t i) {
      return code(sums::RangeInputs(logits, i / 2 * classes, classes), table.data(), i);
    };
    if (prover_ != nullptr)
      if (auto there =
              sums::numbers_of_device(*prover_, code, {"logits"}, inputs, table, 2 * samples, here))
        return std::move(*there);
    std::vector<Expected> all;
    for (std::int64_t i = 0; i < 2 * samples; ++i) all.push_back(here(i));
    return all;
  }

  void add_gradients(const Inputs& inputs, const Execution& execution) const {
    const std::int64_t samples = problem_.shape().samples, classes = problem_.shape().classes;
    using Sums = loss::GradientSums;
    const std::vector<double> sums = sums::ChannelSums({samples, classes, 1}, {"logits"})
                                         .sum(Sums{loss(execution)}, inputs, known_.table, prover_);
    known_.of_classes.clear();
    for (const double* class_sums = sums.data(); class_sums < sums.data() + sums.size();
         class_sums += Sums::terms)
      known_.of_classes.push_back(
          {class_sums[0],
           class_sums[1] + static_cast<double>(samples) * roundoff(execution) * class_sums[2]});
  }

  LossProblem problem_;
  std::vector<TensorSpec> tensors_;
  mutable std::vector<double> key_;
  mutable Cache known_;
};

}  // namespace

std::unique_ptr<Oracle> make_loss_oracle(const LossProblem& problem) {
  return std::make_unique<LossOracle>(problem);
}

}  // namespace assay
