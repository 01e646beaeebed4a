// A backend that gets good times without doing the work: it hands all on to another one
// (ASSAY_CHEAT_INNER, by default `native`), and the timed runs leave something out. The cheat is
// what ASSAY_CHEAT names. It belongs to the test tree alone.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/api/backend_entry.hpp"
#include "core/program/plugins.hpp"

namespace cheating {

using assay::Device;
using assay::Execution;
using assay::Operation;
using assay::Options;
using assay::Result;
using assay::Role;
using assay::Stream;
using assay::Tensor;
using assay::TensorSpec;
using assay::Unsupported;

namespace {

/// Runs on each set of buffers that are honest: those of the verification before timing.
constexpr std::size_t honest_runs_of_set = 4, least_honest_runs = 8;

/// The cache is so small that a cold rotation has a few sets. With more sets than timed runs, each
/// of them is the first on its outputs, and leaving work out of later ones saves nothing.
constexpr std::size_t cache_of_device = 64 * 1024;

std::string cheat_name() {
  const char* name = std::getenv("ASSAY_CHEAT");
  return name == nullptr ? "" : name;
}

std::vector<double> values_of(Device& device, Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.spec().elements()));
  device.get(tensor, [&](std::int64_t first, std::span<const double> part) {
    std::copy(part.begin(), part.end(), values.begin() + first);
  });
  return values;
}

void write(Device& device, Tensor& tensor, const std::vector<double>& values) {
  device.put(tensor, [&](std::int64_t first, std::span<double> part) {
    std::copy_n(values.begin() + first, part.size(), part.begin());
  });
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The inner backend's device with a small cache.
class SmallCache final : public Device {
 public:
  explicit SmallCache(Device& device) : device_(device) {}
  std::string name() const override { return device_.name(); }
  Stream& stream() override { return device_.stream(); }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override {
    return device_.allocate(spec);
  }
  void put(Tensor& tensor, const assay::Source& source) override { device_.put(tensor, source); }
  void get(Tensor& tensor, const assay::Sink& sink) override { device_.get(tensor, sink); }
  void fill(Tensor& tensor, const assay::Values& values) override { device_.fill(tensor, values); }
  void fill(Tensor& tensor, double value) override { device_.fill(tensor, value); }
  assay::ScanResult scan(Tensor& tensor, std::span<const std::int64_t> indices,
                         const assay::ChecksumWeights* weights) override {
    return device_.scan(tensor, indices, weights);
  }
  assay::Prover* prover() override { return device_.prover(); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    device_.copy(to, from, bytes);
  }
  std::shared_ptr<void> host_memory(std::size_t bytes) override {
    return device_.host_memory(bytes);
  }
  std::size_t memory_available() const override { return device_.memory_available(); }
  std::size_t cache_bytes() const override { return cache_of_device; }

 private:
  Device& device_;
};

class CheatingOperation final : public Operation {
 public:
  CheatingOperation(std::unique_ptr<Operation> inner, Device& device, const assay::Problem& problem,
                    const Options& options)
      : inner_(std::move(inner)),
        device_(device),
        cheat_(cheat_name()),
        idle_(cheat_ == "idle:" + problem.canonical()),
        keeps_weights_(cheat_ == "weights_kept_by_pointer" || cheat_ == "weights_kept_at_bind") {
    const bool own_choice = options.get("algorithm", "auto") == "auto";
    slow_ = own_choice && (cheat_ == "slow_choice" || cheat_ == "coarse_algorithms");
    coarse_ = cheat_ == "coarse_arithmetic" || (!own_choice && cheat_ == "coarse_algorithms");
    const char* const tried = std::getenv("ASSAY_CHEATS_TRIED");  // a file
    static std::set<std::string> written;
    if (tried != nullptr && device.name() == "gpu" && written.insert(cheat_).second)
      std::ofstream(tried, std::ios::app) << cheat_ << '\n';
  }

  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }

  void bind(std::span<Tensor* const> tensors) override {
    tensors_.assign(tensors.begin(), tensors.end());
    if (!sets_.insert(tensors_[0]->data()).second && sets_.size() == 1) runs_since_bind_.clear();
    std::vector<Tensor*> used = tensors_;
    if (keeps_weights_ && !shares_memory()) used[weights()] = kept();
    if (keeps_weights_ && shares_memory()) keep_values();
    inner_->bind(used);
    if (cheat_ == "computes_at_bind") {
      inner_->run(device_.stream());
      device_.stream().wait();
    }
  }

  void prologue(Stream& stream) override { inner_->prologue(stream); }

  void run(Stream& stream) override {
    if (idle_) return;
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++runs_;
    const long runs_since_bind = ++runs_since_bind_[tensors_[0]->data()];
    const bool dares = runs_ > std::max(least_honest_runs, honest_runs_of_set * sets_.size());
    if (cheat_ == "computes_at_bind" && dares) return;
    if (cheat_ == "run_only_on_poison" && dares && !poisoned()) return;
    if (cheat_ == "gradient_only_on_poison" && dares && find("diff_weights") != nullptr &&
        !poisoned())
      return;
    if (cheat_ == "lost_update" && dares && find("velocity") != nullptr) return;
    // The sum of gradients of several batches is the one that is made in place.
    if (cheat_ == "lost_sum" && dares && find("a") != nullptr && find("b") != nullptr &&
        find("a")->spec().role == Role::inout)
      return;
    if (cheat_ == "late_validation" && dares && normalizes_by_averages()) return;
    if (cheat_ == "every_second_run" && dares && runs_ % 2 == 0) return;
    const bool partial = cheat_ == "one_percent" && dares;
    const std::vector<double> before =
        partial ? values_of(device_, output()) : std::vector<double>();
    Tensor* const weights = find("velocity") != nullptr ? find("weights") : nullptr;
    const double weight = weights != nullptr ? values_of(device_, *weights)[stale_weight] : 0;
    Tensor* const lost = dares ? lost_by_update() : nullptr;
    const std::vector<double> unchanged =
        lost != nullptr ? values_of(device_, *lost) : std::vector<double>();
    const Kept inputs = change_inputs();
    inner_->run(stream);
    stream.wait();
    for (const auto& [tensor, values] : inputs) write(device_, *tensor, values);
    if (partial) keep_most_of(before);
    if (lost != nullptr) write(device_, *lost, unchanged);
    if (cheat_ == "late_element" && runs_since_bind > 1) spoil_an_element();
    if (cheat_ == "permuted_outputs") swap_two();
    if (cheat_ == "stale_weight" && dares && weights != nullptr) set(*weights, weight);
    if (cheat_ == "scaled_gradient" && dares && find("diff_weights") != nullptr)
      scale(*find("diff_weights"), 0.99);
    // The block has one channel, where rounding changes its gradient most.
    if (Tensor* const shift = find("diff_shift");
        cheat_.starts_with("shift_times:") && shift != nullptr && find("diff_addend") != nullptr &&
        shift->spec().elements() == 1)
      scale(*shift, std::stod(cheat_.substr(cheat_.find(':') + 1)));
    // The input is that of a normalization, which the backward pass reads: each operation is right
    // by what it reads.
    if (cheat_ == "spoils_input" && find("shift") != nullptr) scale(*find("src"), 0.5);
    if (cheat_ == "third_not_finite" && runs_ == 3 && find("diff_weights") != nullptr)
      scale(*find("diff_weights"), NAN);
  }

  Execution execution() const override {
    Execution execution = inner_->execution();
    if (coarse_) {
      execution.algorithm = "winograd";
      execution.tile = 8;
    }
    if (cheat_ == "claims_parts") execution.numbers["partial_sums"] = 32;
    return execution;
  }

 private:
  static constexpr std::size_t stale_weight = 100;
  using Kept = std::map<Tensor*, std::vector<double>>;

  /// The tensor of this name, or null.
  Tensor* find(const std::string& name) {
    for (Tensor* tensor : tensors_)
      if (tensor->spec().name == name) return tensor;
    return nullptr;
  }

  /// The tensor that an update does not change, unless a check has poisoned its outputs; or null.
  Tensor* lost_by_update() {
    if (find("velocity") == nullptr || std::isnan(values_of(device_, *find("norms"))[0]))
      return nullptr;
    if (cheat_ == "lost_weights") return find("weights");
    if (cheat_ == "lost_copies") return find("stored");
    return nullptr;
  }

  /// True for the inference graph: the statistics are an input of the forward pass.
  bool normalizes_by_averages() {
    Tensor* const mean = find("mean");
    Tensor* const out = find("dst");
    return mean != nullptr && out != nullptr && mean->spec().role == Role::input &&
           out->spec().role == Role::output;
  }

  void set(Tensor& tensor, double value) {
    std::vector<double> values = values_of(device_, tensor);
    values[stale_weight] = value;
    write(device_, tensor, values);
  }

  void scale(Tensor& tensor, double by) {
    std::vector<double> values = values_of(device_, tensor);
    for (double& value : values) value *= by;
    write(device_, tensor, values);
  }

  Tensor& output() {
    for (Tensor* tensor : tensors_)
      if (tensor->spec().role == Role::output) return *tensor;
    throw std::logic_error("an operation without output");
  }

  /// Place of the weights among the arguments: a network's recurrent ones, else the second.
  std::size_t weights() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i]->spec().name == "weights_iter") return i;
    return 1;
  }

  /// A copy of the weights as they were when they were first seen, or bound.
  Tensor* kept() {
    Tensor& now = *tensors_[weights()];
    std::unique_ptr<Tensor>& copy = copies_[now.data()];
    const bool first = copy == nullptr;
    if (first) copy = device_.allocate(now.spec());
    if (first || cheat_ == "weights_kept_at_bind") write(device_, *copy, values_of(device_, now));
    return copy.get();
  }

  /// Weights may lie with others in one memory, as those of cuDNN's recurrent networks: a copy
  /// elsewhere cannot take their place, but its values can.
  bool shares_memory() const { return tensors_[weights()]->spec().memory != nullptr; }
  void keep_values() {
    Tensor& now = *tensors_[weights()];
    if (cheat_ == "weights_kept_at_bind" || !values_.contains(now.data()))
      values_[now.data()] = values_of(device_, now);
  }

  bool poisoned() {
    float first = 0;
    device_.copy(&first, output().data(), sizeof first);
    device_.stream().wait();
    return std::isnan(first);
  }

  void keep_most_of(const std::vector<double>& before) {
    std::vector<double> values = values_of(device_, output());
    std::copy(before.begin() + static_cast<std::ptrdiff_t>(values.size() / 100), before.end(),
              values.begin() + static_cast<std::ptrdiff_t>(values.size() / 100));
    write(device_, output(), values);
  }

  void spoil_an_element() {
    std::vector<double> values = values_of(device_, output());
    values[random_() % values.size()] += root_mean_square(values);
    write(device_, output(), values);
  }

  void swap_two() {
    std::vector<double> values = values_of(device_, output());
    const double size = root_mean_square(values);
    for (int i = 0; i < 100; ++i) {
      double& a = values[random_() % values.size()];
      double& b = values[random_() % values.size()];
      if (std::abs(a - b) < size) continue;
      std::swap(a, b);
      break;
    }
    write(device_, output(), values);
  }

  /// Returns the values of those that it has changed.
  Kept change_inputs() {
    Kept all;
    if (keeps_weights_ && shares_memory()) {
      Tensor& now = *tensors_[weights()];
      all[&now] = values_of(device_, now);
      write(device_, now, values_[now.data()]);
    }
    if (!coarse_) return all;
    for (Tensor* tensor : tensors_) {
      if (tensor->spec().role != Role::input) continue;
      std::vector<double> values = all[tensor] = values_of(device_, *tensor);
      for (double& value : values) value = assay::round_to(assay::DataType::fp16, value);
      write(device_, *tensor, values);
    }
    return all;
  }

  std::unique_ptr<Operation> inner_;
  Device& device_;
  std::string cheat_;
  bool idle_, keeps_weights_, slow_ = false, coarse_ = false;
  std::vector<Tensor*> tensors_;
  std::map<void*, std::unique_ptr<Tensor>> copies_;
  std::map<void*, std::vector<double>> values_;
  std::mt19937_64 random_{7};
  std::size_t runs_ = 0;
  std::set<void*> sets_;  // by their first tensor
  /// A cold rotation binds before each run: there, of all runs on a set.
  std::map<void*, long> runs_since_bind_;
};

class CheatingBackend final : public assay::Backend {
 public:
  CheatingBackend() {
    const char* const name = std::getenv("ASSAY_CHEAT_INNER");
    const Result<assay::Backend*> inner = plugins_.open(name == nullptr ? "native" : name);
    if (const auto* refusal = std::get_if<Unsupported>(&inner))
      throw std::runtime_error(refusal->reason);
    inner_ = std::get<assay::Backend*>(inner);
  }
  std::string name() const override { return "cheating"; }
  nlohmann::json software() const override { return inner_->software(); }
  Result<Device*> device(const Options& options) override {
    Result<Device*> device = inner_->device(options);
    if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
    if (device_ == nullptr) device_ = std::make_unique<SmallCache>(*std::get<Device*>(device));
    return device_.get();
  }
  Result<std::unique_ptr<Operation>> make(const assay::Problem& problem, const Options& options,
                                          assay::Communicator& ranks) override {
    Result<Device*> device = inner_->device(options);
    if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
    auto made = inner_->make(problem, options, ranks);
    if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
    return std::make_unique<CheatingOperation>(
        std::move(std::get<std::unique_ptr<Operation>>(made)), *std::get<Device*>(device), problem,
        options);
  }
  std::vector<std::string> algorithms(const std::string& kind) const override {
    return inner_->algorithms(kind);
  }

 private:
  assay::Plugins plugins_;
  assay::Backend* inner_ = nullptr;
  std::unique_ptr<SmallCache> device_;
};

assay::Backend* create(std::string&) { return new CheatingBackend; }

}  // namespace

}  // namespace cheating

ASSAY_BACKEND(&cheating::create)
