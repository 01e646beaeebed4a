#include "models/network/node_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/api/prover.hpp"
#include "core/api/scan.hpp"
#include "core/api/tensor_values.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"

namespace assay {
namespace {

Expectation make_expectation(const Oracle& oracle, const TensorSpec& spec,
                             const std::shared_ptr<const Inputs>& inputs,
                             const Execution& execution, double budget, std::uint64_t seed) {
  Expectation expected;
  if (const auto whole = oracle.whole(spec)) {
    expected.whole = whole;
    expected.formula = oracle.formula(spec, *inputs, execution, false);
    expected.inputs = inputs;
    expected.block = [&oracle, &spec, &execution, inputs](std::int64_t first,
                                                          std::span<Expected> block) {
      expect_block(oracle, spec, *inputs, execution, false, first, block);
    };
    return expected;
  }
  expected.indices = oracle.sample(spec, budget, seed);
  expected.expected.resize(expected.indices.size());
  oracle.expect(spec, *inputs, execution, false, expected.indices, expected.expected);
  return expected;
}

void judge(const OutputCheck& check, const std::string& where, Verification& result) {
  result.wrong_elements += check.wrong_elements;
  result.error_over_bound = std::max(result.error_over_bound, check.error_over_bound);
  if (check.reference_rms > 0)
    result.max_error = std::max(result.max_error, check.max_error / check.reference_rms);
  if (check.reference_norm > 0)
    result.norm_error = std::max(result.norm_error, check.error_norm / check.reference_norm);
  // A bound that is too wide for a network's data is no evidence against the results.
  if (check.failure.empty() || check.undecided) return;
  if (result.passed || std::exchange(result.undecided, false))
    result.reason = where + ": " + check.failure;
  result.passed = false;
}

/// True if tf32 was requested (and it is not known whether it was used), but no element of a
/// product has an error of tf32. A single element may lack this error by chance, but not all of
/// many. Both norm and largest relative error are compared, so no element can hide behind a large
/// one (docs/method-training.md).
bool is_promoted(const GraphNode& node, const Execution& execution, const Expectation& expected,
                 const OutputCheck& check) {
  constexpr std::int64_t least_elements = 16;
  constexpr double part_of_bound = 1e-4;
  return execution.evidence == "requested" && execution.compute == name(Precision::tf32) &&
         execution.storage == name(DataType::fp32) && node.problem->flops() > 0 &&
         std::ranges::count_if(expected.expected,
                               [](const Expected& expected) { return expected.value != 0; }) >=
             least_elements &&
         check.error_norm < least_error_of_tf32 * check.reference_norm &&
         check.error_over_bound < part_of_bound;
}

}  // namespace

void run_checked(Executor& executor, std::size_t index, double budget, std::uint64_t seed,
                 Verification& result) {
  const GraphNode& node = executor.graph().nodes[index];
  Device& device = executor.device(index);
  device.stream().wait();
  if (Prover* const prover = device.prover()) node.oracle->use(*prover);
  const auto inputs = std::make_shared<Inputs>();
  const auto scan_tensor = [&](Tensor& tensor) {
    const ChecksumWeights weights(tensor.spec().dims, seed);
    return device.scan(tensor, {}, &weights);
  };
  std::map<Tensor*, ScanResult> before;
  for (Tensor* const tensor : executor.arguments(index)) {
    const TensorSpec& spec = tensor->spec();
    if (spec.role == Role::input) before.emplace(tensor, scan_tensor(*tensor));
    // Inputs are read before the operation runs: an operation that overwrites an input must not be
    // judged by the overwritten values.
    if (is_input(spec))
      inputs->emplace(spec.name, Values(std::make_shared<const TensorValues>(device, *tensor)));
    if (spec.role == Role::output) device.fill(*tensor, poison(spec.type));
  }
  // Operations may compute results in scratch memory first: results of an earlier run must not
  // remain there.
  executor.poison_scratch(index);
  executor.run_node(index);
  device.stream().wait();
  // A later operation computes correctly from an overwritten input, so only the inputs' checksums
  // reveal the fault.
  for (const auto& [tensor, was] : before)
    if (const ScanResult is = scan_tensor(*tensor);
        is.bad != was.bad || (is.bad == 0 && is.sum != was.sum))
      result.fail(fmt::format("{} by {} changed its input {}", node.text(),
                              executor.choice(index).text(), tensor->spec().name));
  const Execution execution = executor.execution(index);
  for (Tensor* const tensor : executor.arguments(index)) {
    const TensorSpec& spec = tensor->spec();
    if (!is_output(spec)) continue;
    const Expectation expected =
        make_expectation(*node.oracle, spec, inputs, execution, budget, seed);
    const std::string where = fmt::format("{} by {}", node.text(), executor.choice(index).text());
    const OutputCheck check = check_output(device, *tensor, expected);
    judge(check, where, result);
    if (result.passed && is_promoted(node, execution, expected, check)) {
      result.passed = false;
      result.undecided = true;
      result.reason = fmt::format(
          "{}: tf32 was requested, but the results have the errors of fp32 (a norm error of "
          "{:.2g}), so it was silently promoted (use fp32)",
          where, check.error_norm / check.reference_norm);
    }
    result.checked += expected.checked();
    result.outputs += spec.elements();
  }
}

}  // namespace assay
