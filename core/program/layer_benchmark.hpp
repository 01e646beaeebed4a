#pragma once
// Benchmarks of operations of networks' layers. A new one is a LayerOperation.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

struct LayerOperation {
  std::string name, description;
  std::string kind{};                     ///< of its problems, if not `name`
  std::vector<std::string> directions{};  ///< names of passes; the first one is the default
  std::vector<Dimension> variants{};      ///< other choices
  std::string backend, problem;           ///< the defaults
  std::string precision = "fp32";         ///< the default
  std::vector<std::string> precisions{"fp64", "fp32", "bf16", "fp16"};
  bool planes = true;  ///< its tensors have layouts to choose from
  /// A problem of these settings: of direction, variants and precision.
  std::function<std::unique_ptr<Problem>(const std::string& descriptor, const Settings&)> make;
  std::function<std::unique_ptr<Oracle>(const Problem&)> oracle;
};

/// The field `oracle`, of the function that makes it for problems of a type.
template <class P>
std::function<std::unique_ptr<Oracle>(const Problem&)> of_problems(
    std::unique_ptr<Oracle> (*oracle)(const P&)) {
  return [oracle](const Problem& problem) { return oracle(problem_cast<P>(problem)); };
}

class LayerBenchmark final : public OperationBenchmark {
 public:
  explicit LayerBenchmark(LayerOperation operation) : operation_(std::move(operation)) {}
  std::string name() const override { return operation_.name; }
  std::string description() const override { return operation_.description; }
  /// Direction, variants, precision, backend, algorithm, problem, cache, threads, layout, device:
  /// without what the operation does not have.
  std::vector<Dimension> dimensions() const override;
  std::string canonical(const std::string& descriptor) const override;
  std::unique_ptr<Problem> make_problem(Settings& settings, int&) const override {
    return operation_.make(settings.at("problem"), settings);
  }
  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return operation_.oracle(problem);
  }

 private:
  LayerOperation operation_;
};

}  // namespace assay
