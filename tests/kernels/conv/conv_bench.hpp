#pragma once
// The common part of the tests of convolution backends: operations made and run through the plugins
// as the programs load them, and both passes of verification.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "assay/test_paths.hpp"
#include "conv_helpers.hpp"
#include "core/program/plugins.hpp"

namespace assay::conv_test {

inline Plugins& plugins() {
  static Plugins all({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  return all;
}

/// A backend, its device, and operations made and run on it.
class Bench {
 public:
  explicit Bench(const std::string& name, Plugins& from = plugins()) {
    Result<Backend*> made = from.open(name);
    if (const auto* no = std::get_if<Unsupported>(&made))
      reason_ = no->reason;
    else
      backend_ = std::get<Backend*>(made);
  }
  bool available() const { return backend_ != nullptr; }
  const std::string& reason() const { return reason_; }
  Backend& backend() { return *backend_; }
  Device& device() { return *std::get<Device*>(backend_->device(options_)); }
  Options& options() { return options_; }
  void use_threads(int threads) { threads_ = threads; }

  /// Makes the operation and its tensors; false with the reason where it is unsupported.
  bool make(const ConvProblem& problem, const std::string& algorithm = "auto",
            const std::string& layout = "any") {
    options_.settings["algorithm"] = algorithm;
    options_.settings["layout"] = layout;
    options_.threads = threads_;
    tensors_.clear();
    Result<std::unique_ptr<Operation>> made = backend_->make(problem, options_, *ranks_);
    if (const auto* no = std::get_if<Unsupported>(&made)) {
      reason_ = no->reason;
      return false;
    }
    operation_ = std::move(std::get<std::unique_ptr<Operation>>(made));
    for (const TensorSpec& spec : operation_->arguments())
      tensors_.push_back(device().allocate(spec));
    std::vector<Tensor*> bound;
    for (const auto& tensor : tensors_) bound.push_back(tensor.get());
    operation_->bind(bound);
    return true;
  }

  std::vector<double> run(const Inputs& inputs) {
    for (std::size_t i = 0; i < 2; ++i) put(i, inputs.find(tensors_[i]->spec().name)->second);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double poison = is_integer(tensors_[2]->spec().type) ? -7.0 : nan;
    device().put(*tensors_[2], [&](std::int64_t, std::span<double> out) {
      std::fill(out.begin(), out.end(), poison);
    });
    operation_->run(device().stream());
    device().stream().wait();
    return get(2);
  }
  void put(std::size_t i, const Values& values) {
    device().put(*tensors_[i],
                 [&](std::int64_t first, std::span<double> out) { values.fill(first, out); });
  }
  std::vector<double> get(std::size_t i) {
    std::vector<double> out;
    device().get(*tensors_[i], [&](std::int64_t first, std::span<const double> values) {
      ASSERT_EQ(first, static_cast<std::int64_t>(out.size()));
      out.insert(out.end(), values.begin(), values.end());
    });
    return out;
  }
  Operation& operation() { return *operation_; }
  Tensor& tensor(std::size_t i) { return *tensors_[i]; }
  const TensorSpec& spec(std::size_t i) const { return tensors_[i]->spec(); }

 private:
  int threads_ = 1;  // two in the tests that are about it: where processors are shared, OpenMP
                     // threads wait for each other long
  Backend* backend_ = nullptr;
  std::string reason_;
  Options options_;
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  std::unique_ptr<Operation> operation_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
};

/// True if this direction has this precision.
inline bool has(ConvDirection direction, Precision precision) {
  if (is_mixed(precision)) return direction == ConvDirection::bwd_weights;
  return precision != Precision::int8 || direction == ConvDirection::forward;
}

/// Both passes of verification, on all outputs where they are cheap, and on the oracle's sample of
/// them.
inline void verify(Bench& bench, const ConvProblem& problem, std::uint64_t seed) {
  const Execution execution = bench.operation().execution();
  const TensorSpec output = problem.tensors()[2];
  const auto oracle = make_conv_oracle(problem);
  const auto indices = oracle->sample(output, 5e5, seed);
  const auto at = [](const std::vector<double>& values, std::int64_t index) {
    return values[static_cast<std::size_t>(index)];
  };
  const std::string what = problem.canonical() + " direction " +
                           std::to_string(static_cast<int>(problem.direction())) + " " +
                           std::string(name(problem.precision())) + " " + execution.implementation +
                           " " + execution.layout;
  if (const int magnitude = oracle->exact_magnitude(execution); magnitude > 0) {
    const Inputs inputs = make_inputs(problem, Values::Kind::integer, magnitude, seed);
    const std::vector<double> got = bench.run(inputs);
    const std::vector<Expected> want = expect(problem, inputs, execution, true, indices);
    ASSERT_EQ(static_cast<std::int64_t>(got.size()), output.elements()) << what;
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(at(got, indices[i]), round_to(output.type, want[i].value))
          << what << " element " << indices[i] << " magnitude " << magnitude;
    const ChecksumWeights weights(output.dims, seed);
    if (const auto checksum = oracle->checksum(output, inputs, weights)) {
      ASSERT_EQ(sum_weighted(got, weights), *checksum) << what;
    }
  }
  const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63, seed);
  const std::vector<double> got = bench.run(inputs);
  const std::vector<Expected> want = expect(problem, inputs, execution, false, indices);
  double errors = 0, bounds = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(at(got, indices[i]) - want[i].value);
    ASSERT_LE(error, want[i].max_bound)
        << what << " element " << indices[i] << " should be " << want[i].value;
    errors += error * error;
    bounds += want[i].rms_bound * want[i].rms_bound;
  }
  ASSERT_LE(errors, bounds) << what;
}

}  // namespace assay::conv_test
