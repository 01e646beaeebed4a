#pragma once
// An operation of a backend with its tensors: what models are composed of. A model names problems;
// which backend computes them is a setting of the case.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/backend.hpp"
#include "core/measure/case.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

class Step {
 public:
  /// Allocates the tensors of `operation` on `device`, except those in `shared` (by argument name),
  /// which must outlive the step. CaseError where memory is short.
  Step(std::unique_ptr<Operation> operation, Device& device,
       const std::map<std::string, Tensor*>& shared = {});

  Device& device() const { return device_; }
  /// The tensor of an argument; std::logic_error where there is none of that name.
  Tensor& tensor(const std::string& name) const;
  /// Writes a small tensor whole, converted to its type.
  void write(const std::string& name, std::span<const double> values);
  /// Reads a small tensor whole, after all that was submitted.
  void read(const std::string& name, std::span<double> values) const;
  /// Fills an output with what no result has (poison()), so that what is not written shows.
  void poison_outputs();
  /// Computes, asynchronously on the device's stream.
  void run() { operation_->run(device_.stream()); }
  Executed executed() const { return operation_->executed(); }

 private:
  std::unique_ptr<Operation> operation_;
  Device& device_;
  std::vector<std::unique_ptr<Tensor>> own_;
  std::vector<Tensor*> bound_;
  std::map<std::string, Tensor*> by_name_;
};

/// Makes the steps of one case.
class StepMaker {
 public:
  /// `settings`: "backend" and, where they exist, "threads", "device", "blas".
  StepMaker(CaseContext& context, const Settings& settings);
  /// The device of the case's backend, or why there is none.
  Result<Device*> device();
  /// The problem on the case's backend, on whose device the shared tensors are.
  Result<std::unique_ptr<Step>> make_own(const Problem& problem,
                                         const std::map<std::string, Tensor*>& shared = {});
  /// A problem beside the main one, on the case's backend or, where that has no such operation, on
  /// blas, else on reference. Unsupported with each one's reason where none has it.
  Result<std::unique_ptr<Step>> make(const Problem& problem);
  /// Those that make() asks, in turn.
  std::vector<std::string> backends() const;
  int threads() const { return threads_; }

 private:
  Options options_of(const std::string& backend) const;
  Result<std::unique_ptr<Step>> make_on(const std::string& backend, const Problem& problem,
                                        const std::map<std::string, Tensor*>& shared);

  CaseContext& context_;
  Settings settings_;
  int threads_ = 1;
};

}  // namespace assay
