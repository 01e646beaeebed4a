#include "models/analytics/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/text.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"

namespace assay {

AnalyticsStep::AnalyticsStep(std::unique_ptr<Operation> operation, Device& device,
                             const std::map<std::string, Tensor*>& shared, double flops)
    : operation_(std::move(operation)), device_(device), flops_(flops) {
  for (const TensorSpec& spec : operation_->arguments()) {
    const auto entry = shared.find(spec.name);
    if (entry == shared.end()) own_.push_back(device_.allocate(spec));
    bound_.push_back(entry == shared.end() ? own_.back().get() : entry->second);
    by_name_[spec.name] = bound_.back();
    // Counts the bytes that the step reads; a shared tensor may be larger.
    if (spec.name == "x") x_bytes_ = static_cast<double>(spec.bytes);
  }
  operation_->bind(bound_);
}

Tensor& AnalyticsStep::tensor(const std::string& name) const {
  const auto entry = by_name_.find(name);
  if (entry == by_name_.end()) throw std::logic_error("this step has no tensor " + name);
  return *entry->second;
}

void AnalyticsStep::write(const std::string& name, std::span<const double> values) {
  device_.put(tensor(name), [values](std::int64_t first, std::span<double> out) {
    std::copy_n(values.begin() + first, out.size(), out.begin());
  });
}

void AnalyticsStep::read(const std::string& name, std::span<double> values) const {
  device_.stream().wait();
  device_.get(tensor(name), [values](std::int64_t first, std::span<const double> in) {
    std::copy(in.begin(), in.end(), values.begin() + first);
  });
}

void AnalyticsStep::poison_outputs() {
  for (Tensor* tensor : bound_) {
    const TensorSpec& spec = tensor->spec();
    if (is_output(spec)) device_.fill(*tensor, poison(spec.type));
  }
}

Options StepMaker::make_options(const std::string& backend) const {
  Options options = options_;
  if (std::string& own = options.settings.at("backend"); own != backend) {
    own = backend;
    options.settings["device"] = "cpu";
  }
  return options;
}

Result<Device*> StepMaker::device() {
  Result<Backend*> opened = context_.plugins.open(own());
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  return std::get<Backend*>(opened)->device(options_);
}

Result<std::unique_ptr<AnalyticsStep>> StepMaker::make_on(
    const std::string& name, const Problem& problem, const std::map<std::string, Tensor*>& shared) {
  Result<Backend*> opened = context_.plugins.open(name);
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  Backend& backend = *std::get<Backend*>(opened);
  const Options options = make_options(name);
  Result<Device*> device = backend.device(options);
  if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
  Result<std::unique_ptr<Operation>> operation = backend.make(problem, options, context_.ranks);
  if (auto* refusal = std::get_if<Unsupported>(&operation)) return std::move(*refusal);
  return std::make_unique<AnalyticsStep>(std::move(std::get<std::unique_ptr<Operation>>(operation)),
                                         *std::get<Device*>(device), shared, problem.flops());
}

Result<std::unique_ptr<AnalyticsStep>> StepMaker::make_own(
    const Problem& problem, const std::map<std::string, Tensor*>& shared) {
  return make_on(own(), problem, shared);
}

std::vector<std::string> StepMaker::backends() const {
  std::vector<std::string> all{own()};
  for (std::string& name : dimension::list_backends("fallback"))
    if (name != all.front()) all.push_back(std::move(name));
  return all;
}

Result<std::unique_ptr<AnalyticsStep>> StepMaker::make(const Problem& problem) {
  std::vector<std::string> reasons;
  for (const std::string& name : backends()) {
    Result<std::unique_ptr<AnalyticsStep>> step = make_on(name, problem, {});
    const auto* const refusal = std::get_if<Unsupported>(&step);
    if (refusal == nullptr) return step;
    reasons.push_back(refusal->reason);
  }
  return Unsupported{
      fmt::format("no backend computes {} ({})", problem.canonical(), join(reasons, "; "))};
}

}  // namespace assay
