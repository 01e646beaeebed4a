// A backend that does another one's work (ASSAY_FAULT_INNER, by default `reference`) with a fault:
// the one that --algorithm names, or else ASSAY_FAULT. Any other algorithm is handed on.
// ASSAY_FAULT_OFF=1 takes all faults back, so that ids stay and a resumed run ends well;
// ASSAY_FAULT_PROBLEM leaves them to one problem. It belongs to the test tree alone.
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/api/backend_entry.hpp"
#include "core/program/plugins.hpp"
#include "fault.hpp"

namespace faulty {

using assay::Communicator;
using assay::Device;
using assay::Operation;
using assay::Options;
using assay::Problem;
using assay::Result;
using assay::Role;
using assay::Stream;
using assay::Tensor;
using assay::TensorSpec;
using assay::Unsupported;

namespace {

class FaultyOperation final : public Operation {
 public:
  FaultyOperation(std::unique_ptr<Operation> inner, Device& device, Fault fault)
      : inner_(std::move(inner)),
        device_(device),
        fault_(fault),
        after_(std::stol(environment("ASSAY_FAULT_AFTER", "8"))) {}

  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override {
    tensors_.assign(tensors.begin(), tensors.end());
    inner_->bind(tensors);
  }
  void prologue(Stream& stream) override { inner_->prologue(stream); }
  void run(Stream& stream) override {
    strike(fault_);
    ++runs_;
    if (fault_ == Fault::wrong_precision)
      for (Tensor* tensor : tensors_)
        if (tensor->spec().role == Role::input) degrade(device_, *tensor);
    if (fault_ == Fault::skip && flips_.now()) {
      std::ofstream(environment("ASSAY_FAULT_LOG", "/dev/null"), std::ios::app) << "skip 0\n";
      return;
    }
    const auto began = std::chrono::steady_clock::now();
    inner_->run(stream);
    if (fault_ == Fault::slow) {
      stream.wait();
      linger(began);
    }
    if (fault_ == Fault::flip) {
      stream.wait();
      flips_.maybe(outputs());
    }
    const bool now = fault_ == Fault::wrong_element || fault_ == Fault::nan ||
                     fault_ == Fault::inf ||
                     (fault_ == Fault::wrong_element_late && runs_ > after_);
    if (!now) return;
    stream.wait();
    for (Tensor* const tensor : outputs()) spoil(device_, *tensor, fault_);
  }
  assay::Execution execution() const override { return inner_->execution(); }

 private:
  std::vector<Tensor*> outputs() const {
    std::vector<Tensor*> all;
    for (Tensor* const tensor : tensors_)
      if (tensor->spec().role == Role::output || tensor->spec().role == Role::inout)
        all.push_back(tensor);
    return all;
  }

  std::unique_ptr<Operation> inner_;
  Device& device_;
  Fault fault_;
  std::vector<Tensor*> tensors_;
  Flips flips_;
  long runs_ = 0, after_;
};

class FaultyBackend final : public assay::Backend {
 public:
  FaultyBackend() : fault_(fault_of(environment("ASSAY_FAULT", ""))) {
    const Result<assay::Backend*> inner =
        plugins_.open(environment("ASSAY_FAULT_INNER", "reference"));
    if (const auto* refusal = std::get_if<Unsupported>(&inner))
      throw std::runtime_error(refusal->reason);
    inner_ = std::get<assay::Backend*>(inner);
    if (fault_ == Fault::crash_in_create) strike(fault_);
  }
  std::string name() const override { return "faulty"; }
  nlohmann::json software() const override { return inner_->software(); }
  Result<Device*> device(const Options& options) override {
    return inner_->device(handed_on(options));
  }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator& ranks) override {
    const Options inner_options = handed_on(options);
    const Fault asked = fault_of(options.get("algorithm", ""));
    const std::string only = environment("ASSAY_FAULT_PROBLEM", problem.canonical());
    const bool off = environment("ASSAY_FAULT_OFF", "") == "1" || only != problem.canonical();
    const Fault fault = off ? Fault::none : asked == Fault::none ? fault_ : asked;
    if (fault == Fault::abort_in_make) strike(fault);
    Result<Device*> device = inner_->device(inner_options);
    if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
    auto made = inner_->make(problem, inner_options, ranks);
    if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
    return std::make_unique<FaultyOperation>(std::move(std::get<std::unique_ptr<Operation>>(made)),
                                             *std::get<Device*>(device), fault);
  }
  std::vector<std::string> algorithms(const std::string& kind) const override {
    auto names = inner_->algorithms(kind);
    for (std::string& fault : fault_names()) names.push_back(std::move(fault));
    return names;
  }

 private:
  Options handed_on(const Options& options) const {
    Options inner = options;
    inner.settings["backend"] = inner_->name();
    if (fault_of(options.get("algorithm", "")) != Fault::none)
      inner.settings["algorithm"] = environment("ASSAY_FAULT_ALGORITHM", "direct");
    return inner;
  }

  assay::Plugins plugins_;
  assay::Backend* inner_ = nullptr;
  Fault fault_;
};

assay::Backend* create(std::string&) { return new FaultyBackend; }

}  // namespace

}  // namespace faulty

ASSAY_BACKEND(&faulty::create)
