#pragma once
// A small operation with its oracle, and a host of any size, for tests of OperationWorkload.

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/api/host_device.hpp"
#include "core/measure/workload.hpp"

namespace assay::testing_fakes {

// y[i] = sum over j < length of a[i * length + j] * b[j]: a matrix times a vector, small enough to
// be its own reference.
struct Shape {
  std::int64_t rows = 300, length = 40;
  DataType type = DataType::fp32;
  bool in_place = false;  // y[i] += ... instead
};

class Product final : public Problem {
 public:
  explicit Product(Shape shape) : shape_(shape) {}
  std::string kind() const override { return "product"; }
  std::string canonical() const override { return "r" + std::to_string(shape_.rows); }
  nlohmann::json json() const override { return {}; }
  double flops() const override { return 2.0 * static_cast<double>(shape_.rows * shape_.length); }
  double bytes() const override { return 4.0 * static_cast<double>(shape_.rows * shape_.length); }

 private:
  Shape shape_;
};

class ProductOracle final : public Oracle {
 public:
  explicit ProductOracle(Shape shape, int magnitude = 3) : shape_(shape), magnitude_(magnitude) {}
  int exact_magnitude(const Execution&) const override { return magnitude_; }
  int full_magnitude(const TensorSpec& spec) const override {
    return spec.type == DataType::u8 ? 127 : 100;
  }
  std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                   std::uint64_t) const override {
    const double all = static_cast<double>(shape_.rows * shape_.length);
    const std::int64_t stride =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(all / budget)));
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < output.elements(); i += stride) indices.push_back(i);
    if (indices.back() != output.elements() - 1) indices.push_back(output.elements() - 1);
    return indices;
  }
  void expect(const TensorSpec& output, const Inputs& inputs, const Execution&, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Values &a = inputs.at("a"), &b = inputs.at("b");
    const double u = 0x1p-24;
    for (std::size_t n = 0; n < indices.size(); ++n) {
      double sum = shape_.in_place ? inputs.at("y")(indices[n]) : 0, size = std::abs(sum);
      for (std::int64_t j = 0; j < shape_.length; ++j) {
        const double term = a(indices[n] * shape_.length + j) * b(j);
        sum += term;
        size += std::abs(term);
      }
      expected[n].value = sum;
      if (exact || is_integer(output.type)) continue;
      expected[n].max_bound = static_cast<double>(shape_.length + 2) * u * size +
                              unit_roundoff(output.type) * std::abs(sum);
      expected[n].rms_bound = 4 * std::sqrt(static_cast<double>(shape_.length)) * u * size +
                              unit_roundoff(output.type) * std::abs(sum);
    }
  }
  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    std::vector<double> factors(static_cast<std::size_t>(output.elements()));
    weights.fill(0, factors);
    double sum = 0;
    for (std::int64_t j = 0; j < shape_.length; ++j) {
      double column = 0;
      for (std::int64_t i = 0; i < shape_.rows; ++i)
        column += factors[static_cast<std::size_t>(i)] * inputs.at("a")(i * shape_.length + j);
      sum += column * inputs.at("b")(j);
    }
    if (shape_.in_place) {
      for (std::int64_t i = 0; i < output.elements(); ++i)
        sum += factors[static_cast<std::size_t>(i)] * inputs.at("y")(i);
    }
    return sum;
  }

 private:
  Shape shape_;
  int magnitude_;
};

/// A fault that a test may inject: called after each run with the number of the run and the output.
using Fault = std::function<void(int run, float* y)>;

class ProductOperation final : public Operation {
 public:
  explicit ProductOperation(Shape shape, Fault fault = {})
      : shape_(shape), fault_(std::move(fault)) {
    const DataType in = shape.type == DataType::s32 ? DataType::s8 : shape.type;
    specs_ = {plain_tensor("a", Role::input, in, {shape.rows, shape.length}),
              plain_tensor("b", Role::input, in, {shape.length}),
              plain_tensor("y", shape.in_place ? Role::inout : Role::output, shape.type,
                           {shape.rows / 3, 3})};
    TensorSpec scratch;
    scratch.name = "scratch";
    scratch.role = Role::workspace;
    scratch.bytes = 256;
    specs_.push_back(scratch);
  }
  const std::vector<TensorSpec>& arguments() const override { return specs_; }
  void bind(std::span<Tensor* const> tensors) override {
    tensors_.assign(tensors.begin(), tensors.end());
    bound.insert(tensors[0]);
    scratches.insert(tensors[3]);
  }
  void run(Stream&) override {
    const auto rows = static_cast<std::size_t>(shape_.rows),
               length = static_cast<std::size_t>(shape_.length);
    std::vector<double> a(rows * length), b(length), y(rows);
    decode(specs_[0].type, tensors_[0]->data(), a);
    decode(specs_[1].type, tensors_[1]->data(), b);
    if (shape_.in_place) decode(specs_[2].type, tensors_[2]->data(), y);
    for (std::size_t i = 0; i < rows; ++i) {
      float sum = static_cast<float>(y[i]);
      for (std::size_t j = 0; j < length; ++j)
        sum += static_cast<float>(a[i * length + j]) * static_cast<float>(b[j]);
      y[i] = sum;
    }
    encode(specs_[2].type, y, tensors_[2]->data());
    if (fault_) fault_(runs, static_cast<float*>(tensors_[2]->data()));
    ++runs;
  }
  Execution execution() const override {
    Execution execution;
    execution.algorithmic_flops = 99;
    return execution;
  }
  std::set<Tensor*> bound, scratches;
  int runs = 0;

 private:
  Shape shape_;
  Fault fault_;
  std::vector<TensorSpec> specs_;
  std::vector<Tensor*> tensors_;
};

/// A host whose memory and cache are what a test says.
class SmallHost final : public Device {
 public:
  std::string name() const override { return "cpu"; }
  Stream& stream() override { return host_.stream(); }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override {
    allocated += spec.bytes;
    return host_.allocate(spec);
  }
  void put(Tensor& tensor, const Source& source) override { host_.put(tensor, source); }
  void get(Tensor& tensor, const Sink& sink) override { host_.get(tensor, sink); }
  std::size_t memory_available() const override { return memory; }
  std::size_t cache_bytes() const override { return cache; }
  std::size_t memory = std::size_t{1} << 40, cache = 1 << 18, allocated = 0;

 private:
  HostDevice host_;
};

struct PreparedProduct {
  SmallHost device;
  ProductOperation* operation = nullptr;
  std::unique_ptr<Workload> workload;

  explicit PreparedProduct(Shape shape, OperationSetup setup = {}, Fault fault = {},
                           int magnitude = 3) {
    prepare(shape, setup, std::move(fault), magnitude);
  }
  void prepare(Shape shape, OperationSetup setup, Fault fault, int magnitude) {
    auto made = std::make_unique<ProductOperation>(shape, std::move(fault));
    operation = made.get();
    workload =
        make_operation_workload(Product(shape), std::move(made), device,
                                std::make_unique<ProductOracle>(shape, magnitude), 0.25, setup);
  }
  void time(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      workload->reset();
      workload->run(workload->stream());
    }
  }
};

inline OperationSetup cold() {
  OperationSetup setup;
  setup.cold = true;
  return setup;
}

}  // namespace assay::testing_fakes
