// A backend that does another one's work (ASSAY_FAULT_INNER, by default `reference`), all of it and
// right, on a clock that shows ASSAY_FAST_CLOCK (1000) times less than has passed: its rows pass
// every verification, and no processor is so fast. It belongs to the test tree alone.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "core/program/plugins.hpp"

namespace fast_clock {

using namespace assay;

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

class FastStream final : public Stream {
 public:
  void mark(int which) override { clock_.mark(which); }
  void wait() override {}
  double seconds(int from, int to) const override { return clock_.seconds(from, to) / factor_; }

 private:
  HostStream clock_;
  double factor_ = std::stod(environment("ASSAY_FAST_CLOCK", "1000"));
};

/// The other backend's memory, with the stream above.
class FastDevice final : public Device {
 public:
  explicit FastDevice(Device& inner) : inner_(inner) {}
  std::string name() const override { return inner_.name(); }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override {
    return inner_.allocate(spec);
  }
  void put(Tensor& tensor, const Source& source) override { inner_.put(tensor, source); }
  void get(Tensor& tensor, const Sink& sink) override { inner_.get(tensor, sink); }
  std::size_t memory_available() const override { return inner_.memory_available(); }
  std::size_t cache_bytes() const override { return inner_.cache_bytes(); }

 private:
  Device& inner_;
  FastStream stream_;
};

class FastBackend final : public Backend {
 public:
  FastBackend() {
    const Result<Backend*> inner = plugins_.open(environment("ASSAY_FAULT_INNER", "reference"));
    if (const auto* refusal = std::get_if<Unsupported>(&inner))
      throw std::runtime_error(refusal->reason);
    inner_ = std::get<Backend*>(inner);
  }
  std::string name() const override { return "fastclock"; }
  nlohmann::json software() const override { return inner_->software(); }
  Result<Device*> device(const Options& options) override {
    if (!device_) {
      Result<Device*> made = inner_->device(handed_on(options));
      if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
      device_ = std::make_unique<FastDevice>(*std::get<Device*>(made));
    }
    return device_.get();
  }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator& ranks) override {
    return inner_->make(problem, handed_on(options), ranks);
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
  Plugins plugins_;
  Backend* inner_ = nullptr;
  std::unique_ptr<FastDevice> device_;
};

Backend* create(std::string&) { return new FastBackend; }

}  // namespace

}  // namespace fast_clock

ASSAY_BACKEND(&fast_clock::create)
