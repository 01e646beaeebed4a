#pragma once
// An operation of a backend with its tensors. Analyses consist of steps: they name problems, and a
// setting of the case chooses the backend.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/api/backend.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

/// Work that a step has done.
struct StepWork {
  double flops = 0;
  double x_bytes = 0;  ///< of its argument x, the rows of a table, if it has one
  StepWork operator+(const StepWork& other) const {
    return {flops + other.flops, x_bytes + other.x_bytes};
  }
};

class AnalyticsStep {
 public:
  /// Allocates the tensors of `operation` on `device`, except those in `shared` (by argument name),
  /// which must outlive the step. CaseError if memory does not suffice. `flops`: of one run, by the
  /// problem that the operation was made for.
  AnalyticsStep(std::unique_ptr<Operation> operation, Device& device,
                const std::map<std::string, Tensor*>& shared, double flops);

  Device& device() const { return device_; }
  /// The tensor of an argument. std::logic_error if there is none of this name.
  Tensor& tensor(const std::string& name) const;
  /// Writes all elements of a small tensor, converted to its type.
  void write(const std::string& name, std::span<const double> values);
  /// Reads all elements of a small tensor, after all submitted work is done.
  void read(const std::string& name, std::span<double> values) const;
  /// Fills all outputs with poison(), so that elements that are not written are found.
  void poison_outputs();
  /// Computes, asynchronously on the device's stream.
  void run() {
    operation_->run(device_.stream());
    ++runs_;
  }
  /// The number of runs since the step was made, and what they have computed and read.
  std::int64_t runs() const { return runs_; }
  StepWork done() const {
    const auto runs = static_cast<double>(runs_);
    return {runs * flops_, runs * x_bytes_};
  }
  Execution execution() const { return operation_->execution(); }

 private:
  std::unique_ptr<Operation> operation_;
  Device& device_;
  std::vector<std::unique_ptr<Tensor>> own_;
  std::vector<Tensor*> bound_;
  std::map<std::string, Tensor*> by_name_;
  double flops_, x_bytes_ = 0;
  std::int64_t runs_ = 0;
};

/// Makes the steps of one case.
class StepMaker {
 public:
  /// `options`: those of the case's backend, with the settings "backend", "device" and "blas".
  StepMaker(CaseContext& context, Options options)
      : context_(context), options_(std::move(options)) {}
  /// The device of the case's backend, or the reason why there is none.
  Result<Device*> device();
  /// A step on the case's backend. The `shared` tensors must be on its device.
  Result<std::unique_ptr<AnalyticsStep>> make_own(
      const Problem& problem, const std::map<std::string, Tensor*>& shared = {});
  /// A step for a minor problem: on the case's backend if it implements the problem, else on the
  /// first fallback that does. Unsupported, with the reason of each, if none does.
  Result<std::unique_ptr<AnalyticsStep>> make(const Problem& problem);
  /// The backends that make() tries, in their order.
  std::vector<std::string> backends() const;
  /// The options of a step on this backend.
  Options make_options(const std::string& backend) const;
  int threads() const { return options_.threads; }

 private:
  const std::string& own() const { return options_.settings.at("backend"); }
  Result<std::unique_ptr<AnalyticsStep>> make_on(const std::string& backend, const Problem& problem,
                                                 const std::map<std::string, Tensor*>& shared);

  CaseContext& context_;
  Options options_;
};

}  // namespace assay
