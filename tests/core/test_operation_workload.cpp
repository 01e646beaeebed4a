#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/host_device.hpp"
#include "core/workload.hpp"

namespace assay {
namespace {

// y[i] = sum over j < length of a[i * length + j] * b[j]: a matrix times a vector, small enough to be its own reference.
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
  int exact_magnitude(const Executed&) const override { return magnitude_; }
  int full_magnitude(const TensorSpec& spec) const override { return spec.type == DataType::u8 ? 127 : 100; }
  std::vector<std::int64_t> sample(const TensorSpec& output, double budget, std::uint64_t) const override {
    const double all = static_cast<double>(shape_.rows * shape_.length);
    const std::int64_t stride = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(all / budget)));
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < output.elements(); i += stride) indices.push_back(i);
    if (indices.back() != output.elements() - 1) indices.push_back(output.elements() - 1);
    return indices;
  }
  void expect(const TensorSpec& output, const Inputs& inputs, const Executed&, bool exact, std::span<const std::int64_t> indices,
              std::span<Expected> expected) const override {
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
      expected[n].max_bound = static_cast<double>(shape_.length + 2) * u * size + unit_roundoff(output.type) * std::abs(sum);
      expected[n].rms_bound = 4 * std::sqrt(static_cast<double>(shape_.length)) * u * size + unit_roundoff(output.type) * std::abs(sum);
    }
  }
  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs) const override {
    double sum = 0;
    for (std::int64_t j = 0; j < shape_.length; ++j) {
      double column = 0;
      for (std::int64_t i = 0; i < shape_.rows; ++i) column += inputs.at("a")(i * shape_.length + j);
      sum += column * inputs.at("b")(j);
    }
    if (shape_.in_place) {
      for (std::int64_t i = 0; i < output.elements(); ++i) sum += inputs.at("y")(i);
    }
    return sum;
  }

 private:
  Shape shape_;
  int magnitude_;
};

/// What a test may break: called after each run with the number of the run and the output.
using Fault = std::function<void(int run, float* y)>;

class ProductOperation final : public Operation {
 public:
  explicit ProductOperation(Shape shape, Fault fault = {}) : shape_(shape), fault_(std::move(fault)) {
    const DataType in = shape.type == DataType::s32 ? DataType::s8 : shape.type;
    const auto make = [](std::string name, Role role, DataType type, std::vector<std::int64_t> dims) {
      TensorSpec spec;
      spec.name = std::move(name);
      spec.role = role;
      spec.type = type;
      spec.dims = std::move(dims);
      spec.bytes = static_cast<std::size_t>(spec.elements()) * size_of(type);
      return spec;
    };
    specs_ = {make("a", Role::input, in, {shape.rows, shape.length}), make("b", Role::input, in, {shape.length}),
              make("y", shape.in_place ? Role::inout : Role::output, shape.type, {shape.rows / 3, 3})};
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
    const auto rows = static_cast<std::size_t>(shape_.rows), length = static_cast<std::size_t>(shape_.length);
    std::vector<double> a(rows * length), b(length), y(rows);
    decode(specs_[0].type, tensors_[0]->data(), a);
    decode(specs_[1].type, tensors_[1]->data(), b);
    if (shape_.in_place) decode(specs_[2].type, tensors_[2]->data(), y);
    for (std::size_t i = 0; i < rows; ++i) {
      float sum = static_cast<float>(y[i]);
      for (std::size_t j = 0; j < length; ++j) sum += static_cast<float>(a[i * length + j]) * static_cast<float>(b[j]);
      y[i] = sum;
    }
    encode(specs_[2].type, y, tensors_[2]->data());
    if (fault_) fault_(runs, static_cast<float*>(tensors_[2]->data()));
    ++runs;
  }
  Executed executed() const override {
    Executed executed;
    executed.algorithmic_flops = 99;
    return executed;
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

struct Prepared {
  SmallHost device;
  ProductOperation* operation = nullptr;
  std::unique_ptr<Workload> workload;

  explicit Prepared(Shape shape, OperationSetup setup = {}, Fault fault = {}, int magnitude = 3) {
    prepare(shape, setup, std::move(fault), magnitude);
  }
  void prepare(Shape shape, OperationSetup setup, Fault fault, int magnitude) {
    auto made = std::make_unique<ProductOperation>(shape, std::move(fault));
    operation = made.get();
    workload = operation_workload(Product(shape), std::move(made), device, std::make_unique<ProductOracle>(shape, magnitude), 0.25, setup);
  }
  void time(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      workload->reset();
      workload->run(workload->stream());
    }
  }
};

OperationSetup cold() {
  OperationSetup setup;
  setup.cold = true;
  return setup;
}

TEST(OperationWorkload, PassesWhatIsRightInEveryTypeAndMode) {
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::s32}) {
    for (const bool in_place : {false, true}) {
      for (const bool is_cold : {false, true}) {
        Shape shape;
        shape.type = type;
        shape.in_place = in_place && type != DataType::s32;
        Prepared p(shape, is_cold ? cold() : OperationSetup{});
        const Verification before = p.workload->verify_before();
        EXPECT_TRUE(before.passed) << name(type) << in_place << is_cold << before.reason;
        EXPECT_TRUE(before.exact);
        EXPECT_EQ(before.checked, 300);
        EXPECT_EQ(before.outputs, 300);
        EXPECT_LE(before.error_over_bound, 1);
        EXPECT_LE(before.norm_error, before.norm_bound);
        if (!is_integer(type)) {
          EXPECT_GT(before.max_error, 0) << "full significands are not exact";
        }
        p.time(7);
        const Verification after = p.workload->verify_after();
        EXPECT_TRUE(after.passed) << name(type) << in_place << is_cold << after.reason;
        EXPECT_EQ(p.workload->batchable(), !is_cold && !shape.in_place);
      }
    }
  }
}

TEST(OperationWorkload, RandomShapesPass) {
  const Values draw(Values::Kind::integer, 17, "shapes", DataType::s32, 1000);
  for (int i = 0; i < 40; ++i) {
    Shape shape;
    shape.rows = 3 * (1 + static_cast<std::int64_t>(std::abs(draw(2 * i))));
    shape.length = 1 + static_cast<std::int64_t>(std::abs(draw(2 * i + 1))) % 60;
    OperationSetup setup;
    setup.seed = static_cast<std::uint64_t>(i);
    setup.reference_budget = 5000;
    Prepared p(shape, setup);
    const Verification before = p.workload->verify_before();
    EXPECT_TRUE(before.passed) << shape.rows << "x" << shape.length << " " << before.reason;
    p.time(2);
    EXPECT_TRUE(p.workload->verify_after().passed);
  }
}

TEST(OperationWorkload, SaysWhatItCheckedAgainst) {
  Prepared p(Shape{});
  EXPECT_EQ(p.workload->verify_before().reference, "fp64, 300 of 300 outputs, integer inputs exact with checksum of all outputs");
  Prepared winograd(Shape{}, {}, {}, 0);
  const Verification v = winograd.workload->verify_before();
  EXPECT_TRUE(v.passed);
  EXPECT_FALSE(v.exact);
  EXPECT_EQ(v.reference, "fp64, 300 of 300 outputs");
}

// ---- injected faults: the runs are 0 integers before, 1 full before, 2 … timed, then integers after.

TEST(OperationWorkload, AWrongElementBeforeTimingIsNamed) {
  Prepared p(Shape{}, {}, [](int run, float* y) {
    if (run == 1) y[7] += 0.5f;
  });
  const Verification v = p.workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("y[2,1] is "), std::string::npos) << v.reason;
  EXPECT_NE(v.reason.find("1 of 300"), std::string::npos) << v.reason;
  EXPECT_NE(v.reason.find("full-significand inputs, before timing"), std::string::npos) << v.reason;
  EXPECT_GT(v.error_over_bound, 1);
}

TEST(OperationWorkload, AWrongElementOutsideTheSampleChangesTheChecksum) {
  Shape shape;
  OperationSetup setup;
  setup.reference_budget = 400;  // every 30th element
  Prepared p(shape, setup, [](int run, float* y) {
    if (run == 0) y[31] += 1;
  });
  const Verification v = p.workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("the sum of all 300 elements"), std::string::npos) << v.reason;
  EXPECT_LT(v.checked, 300);
}

TEST(OperationWorkload, NotANumberAnywhereFails) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    OperationSetup setup;
    setup.reference_budget = 400;
    Prepared p(Shape{}, setup, [bad](int run, float* y) {
      if (run == 1) y[31] = bad;
    });
    const Verification v = p.workload->verify_before();
    EXPECT_FALSE(v.passed);
    EXPECT_NE(v.reason.find("y[10,1] is "), std::string::npos) << v.reason;
    EXPECT_TRUE(std::isfinite(v.max_error) && std::isfinite(v.norm_error) && std::isfinite(v.error_over_bound));
  }
  Prepared checked(Shape{}, {}, [](int run, float* y) {
    if (run == 1) y[0] = std::nanf("");
  });
  EXPECT_FALSE(checked.workload->verify_before().passed);
}

/// An operation that computes nothing leaves the poison, at any time.
class Idle final : public Operation {
 public:
  Idle(Shape shape, int idle_from) : real_(shape), idle_from_(idle_from) {}
  const std::vector<TensorSpec>& arguments() const override { return real_.arguments(); }
  void bind(std::span<Tensor* const> tensors) override { real_.bind(tensors); }
  void run(Stream& stream) override {
    if (count_++ < idle_from_) real_.run(stream);
  }
  Executed executed() const override { return {}; }

 private:
  ProductOperation real_;
  int idle_from_, count_ = 0;
};

TEST(OperationWorkload, AnOperationThatDoesNothingFails) {
  for (const DataType type : {DataType::fp32, DataType::s32}) {
    for (const int idle_from : {0, 1, 2, 4}) {
      Shape shape;
      shape.type = type;
      SmallHost device;
      const auto workload =
          operation_workload(Product(shape), std::make_unique<Idle>(shape, idle_from), device, std::make_unique<ProductOracle>(shape), 0, {});
      const bool before = workload->verify_before().passed;
      EXPECT_EQ(before, idle_from >= 2);
      if (!before) continue;
      workload->reset();
      workload->run(workload->stream());
      workload->reset();
      workload->run(workload->stream());
      // 2: idle while timed, the outputs still hold the poison; 4: only the check after timing shows it.
      const Verification after = workload->verify_after();
      EXPECT_FALSE(after.passed) << idle_from;
      EXPECT_NE(after.reason.find(idle_from == 2 ? "as the last timed run left it" : "after timing"), std::string::npos) << after.reason;
    }
  }
}

TEST(OperationWorkload, AFaultOfATimedRunShowsAfterwards) {
  Prepared p(Shape{}, {}, [](int run, float* y) {
    if (run == 6) y[299] *= 1.001f;
  });
  EXPECT_TRUE(p.workload->verify_before().passed);
  p.time(5);  // runs 2 to 6
  const Verification v = p.workload->verify_after();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("y[99,2]"), std::string::npos) << v.reason;
}

TEST(OperationWorkload, ALowerPrecisionFailsOnFullSignificandsOnly) {
  // tf32 or bf16 arithmetic is exact on small integers.
  Prepared p(Shape{}, {}, [](int, float* y) {
    for (int i = 0; i < 300; ++i) y[i] = static_cast<float>(round_to(DataType::bf16, y[i]));
  });
  const Verification v = p.workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_TRUE(v.exact);
  EXPECT_NE(v.reason.find("full-significand"), std::string::npos) << v.reason;
}

TEST(OperationWorkload, ASmallErrorEverywhereFailsTheNormTest) {
  // Each within its maximum bound, all together not.
  class Biased final : public Oracle {
   public:
    explicit Biased(Shape shape) : real_(shape) {}
    int exact_magnitude(const Executed&) const override { return 0; }
    int full_magnitude(const TensorSpec& spec) const override { return real_.full_magnitude(spec); }
    std::vector<std::int64_t> sample(const TensorSpec& o, double b, std::uint64_t s) const override { return real_.sample(o, b, s); }
    void expect(const TensorSpec& o, const Inputs& in, const Executed& e, bool exact, std::span<const std::int64_t> indices,
                std::span<Expected> expected) const override {
      real_.expect(o, in, e, exact, indices, expected);
      for (Expected& one : expected) {
        one.value += one.rms_bound * 1.5;
        one.max_bound = one.rms_bound * 3;
      }
    }
    std::optional<double> checksum(const TensorSpec&, const Inputs&) const override { return {}; }

   private:
    ProductOracle real_;
  };
  SmallHost device;
  const Shape shape;
  const auto workload =
      operation_workload(Product(shape), std::make_unique<ProductOperation>(shape), device, std::make_unique<Biased>(shape), 0, {});
  const Verification v = workload->verify_before();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("2-norm"), std::string::npos) << v.reason;
  EXPECT_LE(v.error_over_bound, 1);
}

// ---- cold

TEST(ColdWorkload, RotatesThroughMoreThanTwiceTheCache) {
  Prepared p(Shape{}, cold());  // 300 * 40 * 4 bytes and a little, 256 KiB of cache
  p.workload->verify_before();
  const std::size_t sets = p.operation->bound.size();
  EXPECT_EQ(sets, 11u);
  EXPECT_GT(p.device.allocated, 2 * p.device.cache);
  EXPECT_EQ(p.operation->scratches.size(), 1u);  // shared scratch
  p.operation->bound.clear();
  p.time(static_cast<int>(sets));
  EXPECT_EQ(p.operation->bound.size(), sets);
}

TEST(ColdWorkload, HasTwoSetsAtLeast) {
  Shape shape;
  shape.rows = 30000;
  Prepared p(shape, cold());
  EXPECT_TRUE(p.workload->verify_before().passed);
  EXPECT_EQ(p.operation->bound.size(), 2u);
}

TEST(ColdWorkload, AFaultInOneSetAloneShows) {
  // 11 sets: integers are runs 0 to 10, full significands 11 to 21, timed from 22.
  for (const int faulty : {0, 5, 10, 11, 21}) {
    Prepared p(Shape{}, cold(), [faulty](int run, float* y) {
      // One element of the integer runs; the later sets' full-significand runs are sampled.
      if (run == faulty) std::for_each(y, y + (run < 12 ? 1 : 300), [](float& value) { value += 8; });
    });
    EXPECT_FALSE(p.workload->verify_before().passed) << faulty;
  }
  Prepared p(Shape{}, cold(), [](int run, float* y) {
    if (run == 25) {
      for (int i = 0; i < 300; ++i) y[i] += 8;
    }
  });
  EXPECT_TRUE(p.workload->verify_before().passed);
  p.time(9);
  const Verification v = p.workload->verify_after();
  EXPECT_FALSE(v.passed);
  EXPECT_NE(v.reason.find("buffer set 4 of 11"), std::string::npos) << v.reason;
}

TEST(ColdWorkload, NeedsToKnowTheCache) {
  SmallHost device;
  device.cache = 0;
  const Shape shape;
  EXPECT_THROW(operation_workload(Product(shape), std::make_unique<ProductOperation>(shape), device, std::make_unique<ProductOracle>(shape), 0, cold()),
               CaseError);
  device.cache = std::size_t{1} << 40;
  EXPECT_THROW(operation_workload(Product(shape), std::make_unique<ProductOperation>(shape), device, std::make_unique<ProductOracle>(shape), 0, cold()),
               CaseError);
}

// ---- memory

TEST(OperationWorkload, AsksForMemoryBeforeItAllocates) {
  SmallHost device;
  device.memory = 100000;  // 2 * 48000 + 1360 + 256 needed
  const Shape shape;
  const auto make = [&](OperationSetup setup) {
    return operation_workload(Product(shape), std::make_unique<ProductOperation>(shape), device, std::make_unique<ProductOracle>(shape), 0, setup);
  };
  EXPECT_NO_THROW(make({}));
  device.allocated = 0;
  device.memory = 97000;
  try {
    make({});
    FAIL();
  } catch (const CaseError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("needs 0.1 MiB"), std::string::npos) << text;
    EXPECT_NE(text.find("0.1 MiB are available"), std::string::npos) << text;
  }
  EXPECT_EQ(device.allocated, 0u);
  device.memory = 300000;
  EXPECT_THROW(make(cold()), CaseError);
  EXPECT_EQ(device.allocated, 0u);
}

TEST(OperationWorkload, TellsWorkAndSetup) {
  Prepared p(Shape{});
  p.workload->verify_before();
  const std::map<std::string, double> work = p.workload->work();
  EXPECT_EQ(work.at("flops_per_s"), 24000);
  EXPECT_EQ(work.at("algorithmic_flops_per_s"), 99);
  EXPECT_EQ(work.at("bytes_per_s"), 48000);
  const std::map<std::string, double> setup = p.workload->setup();
  EXPECT_EQ(setup.at("create"), 0.25);
  for (const char* name : {"allocate", "fill", "verify"}) EXPECT_GT(setup.at(name), 0) << name;
  EXPECT_EQ(setup.at("reorder"), 0);
}

TEST(OperationWorkload, RanksHaveDataOfTheirOwn) {
  OperationSetup first, second;
  second.rank = 1;
  Prepared a(Shape{}, first), b(Shape{}, second);
  EXPECT_TRUE(a.workload->verify_before().passed);
  EXPECT_TRUE(b.workload->verify_before().passed);
  a.time(1);
  b.time(1);
  EXPECT_TRUE(a.workload->verify_after().passed);
  EXPECT_TRUE(b.workload->verify_after().passed);
}

}  // namespace
}  // namespace assay
