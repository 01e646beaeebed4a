// A backend for simulated pipelines: the results are those of `reference`, the time is a wait of
// known length, so that a slowdown of 10 % is one on a loaded machine, too. Of the test tree alone.
//
// WEEKLY_WAIT: seconds of every run (0.005). WEEKLY_SLOWER: factor on it. WEEKLY_LOST: a precision
// that is unsupported. WEEKLY_DISTURBED: a further factor, for the run of a suite but not for
// launches that confirm (their folder is named `confirm`): a disturbance that has passed.
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
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
using Clock = std::chrono::steady_clock;

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

std::chrono::duration<double> wait_of_a_run() {
  const double disturbed = confirms() ? 1 : std::stod(environment("WEEKLY_DISTURBED", "1"));
  return std::chrono::duration<double>(std::stod(environment("WEEKLY_WAIT", "0.005")) *
                                       std::stod(environment("WEEKLY_SLOWER", "1")) * disturbed);
}

/// Who sleeps is woken late on a loaded machine, by milliseconds. A real-time thread is not, where
/// the system lets it be one; elsewhere the wait is as exact as the load allows.
class Punctual {
 public:
  Punctual() { set(SCHED_FIFO, 1); }
  ~Punctual() { set(SCHED_OTHER, 0); }
  Punctual(const Punctual&) = delete;
  Punctual& operator=(const Punctual&) = delete;

 private:
  static void set(int policy, int priority) {
    sched_param parameter{};
    parameter.sched_priority = priority;
    pthread_setschedparam(pthread_self(), policy, &parameter);
  }
};

class WaitingOperation final : public Operation {
 public:
  explicit WaitingOperation(std::unique_ptr<Operation> inner)
      : inner_(std::move(inner)),
        wait_(std::chrono::duration_cast<Clock::duration>(wait_of_a_run())) {}
  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override { inner_->bind(tensors); }
  void prologue(Stream& stream) override { inner_->prologue(stream); }
  void run(Stream& stream) override {
    const auto end = Clock::now() + wait_;
    const Punctual punctual;
    inner_->run(stream);
    stream.wait();
    std::this_thread::sleep_until(end);
  }
  assay::Executed executed() const override { return inner_->executed(); }

 private:
  std::unique_ptr<Operation> inner_;
  Clock::duration wait_;
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
    return inner_->device(handed_on(options));
  }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator& ranks) override {
    const std::string precision = options.get("precision", "");
    if (precision == environment("WEEKLY_LOST", "none"))
      return Unsupported{"this version has no " + precision};
    auto made = inner_->make(problem, handed_on(options), ranks);
    if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
    return std::make_unique<WaitingOperation>(
        std::move(std::get<std::unique_ptr<Operation>>(made)));
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
};

assay::Backend* create(std::string&) { return new WeeklyBackend; }

}  // namespace

}  // namespace weekly

ASSAY_BACKEND(&weekly::create)
