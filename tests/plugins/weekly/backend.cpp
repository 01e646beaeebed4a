// A backend for simulated pipelines: the results are those of `reference`, the clock of its device
// is a model, in which every run takes WEEKLY_WAIT seconds, within 0.2 %. So a slowdown of 10 % is
// one however loaded the machine is, which no waiting or computing could promise. It belongs to the
// test tree alone.
//
// WEEKLY_WAIT: seconds of every run (0.005). WEEKLY_SLOWER: factor on it. WEEKLY_LOST: a precision
// that is unsupported. WEEKLY_DISTURBED: a further factor, for the run of a suite but not for
// launches that confirm (their folder is named `confirm`): a disturbance that has passed.
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <utility>

#include "core/api/backend_entry.hpp"
#include "core/program/plugins.hpp"

namespace weekly {

using assay::Communicator;
using assay::Device;
using assay::Operation;
using assay::Options;
using assay::Problem;
using assay::Result;
using assay::Stream;
using assay::Tensor;
using assay::TensorSpec;
using assay::Unsupported;

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

bool confirms() {
  std::ifstream file("/proc/self/cmdline");
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find("/confirm/") != std::string::npos;
}

double seconds_of_a_run() {
  const double disturbed = confirms() ? 1 : std::stod(environment("WEEKLY_DISTURBED", "1"));
  return std::stod(environment("WEEKLY_WAIT", "0.005")) *
         std::stod(environment("WEEKLY_SLOWER", "1")) * disturbed;
}

/// Its time passes only by advance().
class ModelStream final : public Stream {
 public:
  void advance(double seconds) { now_ += seconds; }
  void mark(int which) override { marks_[static_cast<std::size_t>(which & 15)] = now_; }
  void wait() override {}
  double seconds(int from, int to) const override {
    return marks_[static_cast<std::size_t>(to & 15)] - marks_[static_cast<std::size_t>(from & 15)];
  }

 private:
  double now_ = 0;
  std::array<double, 16> marks_{};
};

/// The other backend's memory, with the stream above.
class ModelDevice final : public Device {
 public:
  explicit ModelDevice(Device& inner) : inner_(inner) {}
  std::string name() const override { return inner_.name(); }
  Stream& stream() override { return stream_; }
  ModelStream& model() { return stream_; }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override {
    return inner_.allocate(spec);
  }
  void put(Tensor& tensor, const assay::Source& source) override { inner_.put(tensor, source); }
  void get(Tensor& tensor, const assay::Sink& sink) override { inner_.get(tensor, sink); }
  std::size_t memory_available() const override { return inner_.memory_available(); }
  std::size_t cache_bytes() const override { return inner_.cache_bytes(); }

 private:
  Device& inner_;
  ModelStream stream_;
};

/// Every launch differs a little from every other, as those of real programs do.
class ModelledOperation final : public Operation {
 public:
  ModelledOperation(std::unique_ptr<Operation> inner, ModelStream& stream)
      : inner_(std::move(inner)), stream_(stream) {}
  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override { inner_->bind(tensors); }
  void prologue(Stream& stream) override { inner_->prologue(stream); }
  void run(Stream& stream) override {
    inner_->run(stream);
    stream_.advance(seconds_ * std::uniform_real_distribution<>(0.998, 1.002)(random_));
  }
  assay::Execution execution() const override { return inner_->execution(); }

 private:
  std::unique_ptr<Operation> inner_;
  ModelStream& stream_;
  double seconds_ = seconds_of_a_run();
  std::mt19937 random_{std::random_device{}()};
};

class WeeklyBackend final : public assay::Backend {
 public:
  WeeklyBackend() {
    const Result<assay::Backend*> inner = plugins_.open("reference");
    if (const auto* refusal = std::get_if<Unsupported>(&inner))
      throw std::runtime_error(refusal->reason);
    inner_ = std::get<assay::Backend*>(inner);
  }
  std::string name() const override { return "weekly"; }
  nlohmann::json software() const override { return inner_->software(); }
  Result<Device*> device(const Options& options) override {
    if (!device_) {
      Result<Device*> made = inner_->device(handed_on(options));
      if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
      device_ = std::make_unique<ModelDevice>(*std::get<Device*>(made));
    }
    return device_.get();
  }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator& ranks) override {
    const std::string precision = options.get("precision", "");
    if (precision == environment("WEEKLY_LOST", "none"))
      return Unsupported{"this version has no " + precision};
    auto made = inner_->make(problem, handed_on(options), ranks);
    if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
    const Result<Device*> place = device(options);
    if (const auto* refusal = std::get_if<Unsupported>(&place)) return *refusal;
    return std::make_unique<ModelledOperation>(
        std::move(std::get<std::unique_ptr<Operation>>(made)), device_->model());
  }
  std::vector<std::string> algorithms(const std::string& kind) const override {
    return inner_->algorithms(kind);
  }

 private:
  Options handed_on(const Options& options) const {
    Options inner = options;
    inner.settings["backend"] = inner_->name();
    return inner;
  }

  assay::Plugins plugins_;
  assay::Backend* inner_ = nullptr;
  std::unique_ptr<ModelDevice> device_;
};

assay::Backend* create(std::string&) { return new WeeklyBackend; }

}  // namespace

}  // namespace weekly

ASSAY_BACKEND(&weekly::create)
