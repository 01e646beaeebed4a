// References that the GPU computes beside those of the host, on a fake GPU that runs our kernels'
// threads on the host.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <set>

#include "assay/test_paths.hpp"
#include "core/api/layout.hpp"
#include "core/api/prover.hpp"
#include "core/api/tensor_values.hpp"
#include "core/base/error.hpp"
#include "core/measure/buffer_sets.hpp"
#include "core/measure/checker.hpp"
#include "core/program/plugins.hpp"
#include "kernels/activation/problem.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/dropout/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/pool/problem.hpp"
#include "kernels/resize/problem.hpp"
#include "kernels/sum/problem.hpp"
#include "kernels/update/problem.hpp"

namespace assay {
namespace test_prover {

Device& gpu() {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static Device* const device =
      std::get<Device*>(std::get<Backend*>(plugins.open("cuda"))->device(Options{}));
  return *device;
}

/// Bytes that the fake runtime has copied between GPU and host.
std::size_t crossed() {
  void* const count = dlsym(RTLD_DEFAULT, "fake_gpu_crossed");  // null on a real GPU
  return count == nullptr ? 0 : reinterpret_cast<std::size_t (*)()>(count)();
}

/// An operation's reference with inputs.
struct Trial {
  std::shared_ptr<Oracle> oracle;
  std::vector<TensorSpec> specs;
  std::shared_ptr<Inputs> inputs = std::make_shared<Inputs>();

  /// `stored`: inputs are tensors, as in a network.
  Trial(std::unique_ptr<Oracle> of, std::vector<TensorSpec> arguments, bool nhwc,
        bool stored = false, std::uint64_t seed = 5)
      : oracle(std::move(of)), specs(std::move(arguments)) {
    oracle->use(*gpu().prover());
    for (TensorSpec& spec : specs) {
      if (nhwc && spec.dims.size() == 4)
        spec.layout = std::make_shared<const Layout>(channel_blocks(spec.dims, spec.dims[1]));
      if (!is_input(spec)) continue;
      Values values(Values::Kind::mantissa, seed, spec.name, spec.type,
                    oracle->full_magnitude(spec));
      if (oracle->nonnegative(spec)) values = values.magnitudes();
      if (stored) {
        const auto tensor = gpu().allocate(spec);
        gpu().fill(*tensor, values);
        values = Values(std::make_shared<const TensorValues>(gpu(), *tensor));
        gpu().fill(*tensor, 3);  // which does not change them
      }
      inputs->emplace(spec.name, values);
    }
  }

  Expectation expectation(const TensorSpec& output, bool there) const {
    Expectation made;
    made.whole = oracle->whole(output);
    made.inputs = inputs;
    if (there) made.formula = oracle->formula(output, *inputs, Executed{}, false);
    made.block = [this, &output](std::int64_t first, std::span<Expected> expected) {
      expect_block(*oracle, output, *inputs, Executed{}, false, first, expected);
    };
    return made;
  }

  /// An output that holds what is expected but for `fault`, which is added to element `at`.
  std::unique_ptr<Tensor> output(const TensorSpec& spec, std::int64_t at, double fault) const {
    auto tensor = gpu().allocate(spec);
    const Expectation right = expectation(spec, false);
    gpu().put(*tensor, [&](std::int64_t first, std::span<double> out) {
      std::vector<Expected> expected(out.size());
      right.block(first, expected);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = round_to(spec.type, expected[i].value);
        if (first + static_cast<std::int64_t>(i) == at)
          out[i] = fault == 0 ? std::numeric_limits<double>::quiet_NaN()
                              : round_to(spec.type, out[i] + fault);
      }
    });
    return tensor;
  }
};

void expect_near(double a, double b) {
  EXPECT_LE(std::abs(a - b), 1e-9 * (std::abs(a) + std::abs(b))) << a << " " << b;
}

/// The host and the GPU judge right outputs, a fault in each, and one that is not a number alike.
void expect_same_verdicts(std::unique_ptr<Oracle> oracle, const std::vector<TensorSpec>& specs,
                          bool nhwc, bool stored = false) {
  const std::set<std::string> of_few{"mean",      "variance", "diff_scale", "diff_shift",
                                     "diff_bias", "norms",    "counts"};
  const Trial trial(std::move(oracle), specs, nhwc, stored);
  for (const TensorSpec& spec : trial.specs) {
    if (!is_output(spec)) continue;
    const Expectation there = trial.expectation(spec, true), here = trial.expectation(spec, false);
    ASSERT_EQ(there.formula.has_value(), !of_few.contains(spec.name)) << spec.name;
    if (spec.name == "counts") continue;  // most of which may be off by a few
    const std::int64_t n = spec.elements();
    for (const auto& [at, fault] : {std::pair{std::int64_t{-1}, 0.0}, std::pair{n / 3, 3.0},
                                    std::pair{n - 1, -3.0}, std::pair{n - 1, 0.0}}) {
      const auto tensor = trial.output(spec, at, fault);
      check_output(gpu(), *tensor, there);  // the first believes
      const std::size_t before = crossed();
      const OutputCheck a = check_output(gpu(), *tensor, there);
      if (there.formula && crossed() > 0) {
        EXPECT_LT(crossed() - before, 8192u + 8 * there.formula->table.size()) << spec.name;
      }
      const OutputCheck b = check_output(gpu(), *tensor, here);
      EXPECT_EQ(a.failure.empty(), at < 0) << spec.name << a.failure;
      EXPECT_EQ(a.failure, b.failure);
      EXPECT_EQ(a.wrong_elements, b.wrong_elements);
      if (!b.failure.empty() && fault == 0) continue;
      expect_near(a.error_norm, b.error_norm);
      expect_near(a.bound_norm, b.bound_norm);
      expect_near(a.reference_norm, b.reference_norm);
      expect_near(a.max_error, b.max_error);
    }
  }
}

constexpr Precision precisions[] = {Precision::fp64, Precision::fp32, Precision::bf16,
                                    Precision::fp16};

TEST(Prover, JudgesNormsAsTheHost) {
  for (const Precision precision : precisions)
    for (const std::string& direction : norm_direction_names())
      for (const std::string& fusion : norm_fusion_names())
        for (const bool nhwc : {false, true}) {
          const NormProblem problem(parse_norm("mb3ic5ih7iw9"), norm_direction(direction),
                                    norm_fusion(fusion), precision);
          expect_same_verdicts(norm_oracle(problem), problem.tensors(), nhwc);
          expect_same_verdicts(norm_oracle(problem), problem.tensors(), nhwc, true);
          ASSERT_FALSE(HasFailure()) << direction << fusion << name(precision) << nhwc;
        }
}

TEST(Prover, JudgesPoolsAsTheHost) {
  for (const Precision precision : precisions)
    for (const std::string& direction : pool_direction_names())
      for (const std::string& mode : pool_mode_names())
        for (const char* shape :
             {"mb2ic3ih12kh3sh2ph1", "mb1ic5ih9kh2sh3", "mb1ic2ih9iw6oh5ow3kh3kw4sh2sw1ph1pw0"})
          for (const bool nhwc : {false, true}) {
            const PoolProblem problem(parse_pool(shape), pool_direction(direction), pool_mode(mode),
                                      precision);
            expect_same_verdicts(pool_oracle(problem), problem.tensors(), nhwc);
            ASSERT_FALSE(HasFailure()) << direction << mode << shape << name(precision) << nhwc;
          }
}

TEST(Prover, JudgesResizingAsTheHost) {
  for (const Precision precision : precisions)
    for (const auto direction : {ResizeDirection::forward, ResizeDirection::backward})
      for (const auto coordinates : {ResizeCoordinates::half_pixel, ResizeCoordinates::aligned})
        for (const char* shape : {"mb2ic3ih5iw6oh10ow12", "mb1ic2ih7iw4oh3ow9", "mb1ic5ih1oh6"})
          for (const bool nhwc : {false, true}) {
            const ResizeProblem problem(parse_resize(shape), direction, coordinates, precision);
            expect_same_verdicts(resize_oracle(problem), problem.tensors(), nhwc);
            ASSERT_FALSE(HasFailure()) << name(direction) << shape << name(precision) << nhwc;
          }
}

TEST(Prover, JudgesSumsAsTheHost) {
  for (const Precision precision : precisions) {
    const SumProblem problem(1000003 / 64, precision, false);
    for (const bool stored : {false, true})
      expect_same_verdicts(sum_oracle(problem), problem.tensors(), false, stored);
    ASSERT_FALSE(HasFailure()) << name(precision);
  }
}

TEST(Prover, JudgesActivationsAsTheHost) {
  for (const Precision precision : precisions)
    for (const std::string& direction : activation_direction_names())
      for (const std::string& function : activation_function_names())
        for (const bool bias : {false, true}) {
          const ActivationProblem problem(parse_activation("mb3ic5ih7iw9"),
                                          activation_direction(direction),
                                          activation_function(function), bias, precision);
          if (why_not_precision(problem)) continue;
          expect_same_verdicts(activation_oracle(problem), problem.tensors(), bias);
          ASSERT_FALSE(HasFailure()) << direction << function << name(precision) << bias;
        }
}

TEST(Prover, JudgesDropoutsAsTheHost) {
  for (const Precision precision : precisions)
    for (const bool nhwc : {false, true}) {
      const DropoutProblem problem(parse_dropout("mb3ic5ih7iw9p0.3k6000000000"),
                                   DropoutDirection::backward, precision);
      expect_same_verdicts(dropout_oracle(problem), problem.tensors(), nhwc);
      ASSERT_FALSE(HasFailure()) << name(precision) << nhwc;
    }
}

/// The threads of an item that begin a launch do nothing meanwhile.
struct LostThreads {
  explicit LostThreads(const char* item) {
    setenv("FAKE_GPU_LOSES", "1", 1);
    setenv("FAKE_GPU_LOSES_OF", item, 1);
  }
  ~LostThreads() {
    unsetenv("FAKE_GPU_LOSES");
    unsetenv("FAKE_GPU_LOSES_OF");
  }
};

UpdateProblem update_of(const std::string& rule, Precision precision) {
  return UpdateProblem({update_rule(rule),
                        0.9,
                        0.01,
                        0.05,
                        {{9000, true, true}, {70, false, false}, {9001, true, true}}},
                       precision);
}

/// Before others believe them.
TEST(Prover, IsNotBelievedWhereItsSumsDifferFromTheHosts) {
  for (const char* item : {"SquareSums", "StaleSums"}) {
    const LostThreads lost(item);
    const UpdateProblem problem = update_of("sgd", Precision::fp32);
    const Trial trial(update_oracle(problem), problem.tensors(), false);
    try {
      trial.oracle->formula(trial.specs[3], *trial.inputs, Executed{}, false);
      FAIL() << item;
    } catch (const CaseError& error) {
      EXPECT_NE(std::string(error.what()).find("the GPU finds"), std::string::npos) << error.what();
    }
  }
}

TEST(Prover, JudgesUpdatesAsTheHost) {
  for (const std::string& rule : update_rule_names())
    for (const Precision precision : precisions)
      for (const bool stored : {false, true}) {
        if (stored && precision != Precision::fp32 && precision != Precision::fp16) continue;
        const UpdateProblem problem = update_of(rule, precision);
        expect_same_verdicts(update_oracle(problem), problem.tensors(), false, stored);
        ASSERT_FALSE(HasFailure()) << rule << name(precision) << stored;
      }
}

/// What the host expects of outputs of a convolution, and what it expects with the GPU's sums.
void expect_same_sums(const ConvProblem& problem, bool nhwc) {
  const Trial trial(conv_oracle(problem), problem.tensors(), nhwc, true);
  const auto host = conv_oracle(problem);
  const TensorSpec& output = trial.specs[2];
  const std::vector<std::int64_t> indices = host->sample(output, 2e5, 3);
  std::vector<Expected> here(indices.size()), there(indices.size());
  trial.oracle->expect(output, *trial.inputs, Executed{}, false, indices, there);
  host->expect(output, *trial.inputs, Executed{}, false, indices, here);
  for (std::size_t i = 0; i < here.size(); ++i) {
    ASSERT_NEAR(here[i].value, there[i].value, 1e-6 * here[i].max_bound) << indices[i];
    ASSERT_NEAR(here[i].max_bound, there[i].max_bound, 1e-9 * here[i].max_bound) << indices[i];
    ASSERT_NEAR(here[i].rms_bound, there[i].rms_bound, 1e-9 * here[i].rms_bound) << indices[i];
  }
}

TEST(Prover, AddsConvolutionsAsTheHost) {
  for (const char* shape :
       {"mb2ic6ih9oc4oh5kh3sh2ph1", "g2mb3ic4ih7iw5oc6oh3ow4kh3kw2dh1ph0pw0", "mb1ic5ih8oc3oh8kh1",
        "mb5ic3ih40oc2oh40kh3ph1", "mb1ic2id4ih5iw6oc3od4oh5ow6kd3kh3kw3pd1ph1pw1"})
    for (const ConvDirection direction :
         {ConvDirection::forward, ConvDirection::bwd_data, ConvDirection::bwd_weights})
      for (const Precision precision : {Precision::fp32, Precision::bf16})
        for (const bool nhwc : {false, true}) {
          expect_same_sums(ConvProblem(parse_conv(shape), direction, precision), nhwc);
          ASSERT_FALSE(HasFailure()) << shape << name(direction) << name(precision) << nhwc;
        }
}

TEST(Prover, IsNotBelievedWhereItsConvolutionsDifferFromTheHosts) {
  const LostThreads lost("PartOfSum");
  const ConvProblem problem(parse_conv("mb2ic6ih9oc4oh5kh3sh2ph1"), ConvDirection::forward,
                            Precision::fp16);
  EXPECT_THROW(expect_same_sums(problem, false), CaseError);
}

/// Once it is believed, what crosses is less than the smallest part of what it reads.
TEST(Prover, LeavesInputsOfNetworksOnTheGpu) {
  const NormProblem norm(parse_norm("mb3ic16ih20iw30"), NormDirection::backward, NormFusion::relu,
                         Precision::fp32);
  const UpdateProblem update = update_of("adam", Precision::fp32);
  const ConvProblem conv(parse_conv("mb8ic16ih16oc24oh16kh3ph1"), ConvDirection::bwd_weights,
                         Precision::fp32);
  for (const std::uint64_t seed : {1, 2}) {
    const std::size_t before = crossed();
    for (const Problem* const problem : std::initializer_list<const Problem*>{&norm, &update}) {
      const Trial trial(problem == &norm ? norm_oracle(norm) : update_oracle(update),
                        problem == &norm ? norm.tensors() : update.tensors(), false, true, seed);
      for (const TensorSpec& spec : trial.specs) {
        const Expectation there = trial.expectation(spec, true);
        if (!is_output(spec) || !there.formula) continue;
        const auto tensor = gpu().allocate(spec);
        gpu().fill(*tensor, 0);
        EXPECT_NE(check_output(gpu(), *tensor, there).failure, "");
      }
    }
    const Trial trial(conv_oracle(conv), conv.tensors(), true, true, seed);
    const std::vector<std::int64_t> some{0, 17};
    std::vector<Expected> expected(2);
    trial.oracle->expect(trial.specs[2], *trial.inputs, Executed{}, false, some, expected);
    if (seed > 1 && crossed() > 0) {
      EXPECT_LT(crossed() - before, 40000u);
    }
  }
}

TEST(Prover, LeavesToTheHostWhatItHasNoRoomFor) {
  const UpdateProblem problem = update_of("lamb", Precision::fp32);
  for (const bool stored : {false, true}) {
    const Trial trial(update_oracle(problem), problem.tensors(), false, stored);
    const TensorSpec& spec = trial.specs[3];
    const auto tensor = gpu().allocate(spec);
    gpu().fill(*tensor, 0);
    const std::size_t in_use = (std::size_t{256} << 20) - gpu().memory_available();
    setenv("FAKE_GPU_BYTES", std::to_string(in_use + 200000).c_str(), 1);
    const OutputCheck there = check_output(gpu(), *tensor, trial.expectation(spec, true));
    unsetenv("FAKE_GPU_BYTES");
    EXPECT_NE(there.failure, "");
    EXPECT_EQ(there.failure, check_output(gpu(), *tensor, trial.expectation(spec, false)).failure);
  }
}

/// A GPU that expects what the host does, and compares wrongly, is not believed: the host compares.
TEST(Prover, ComparesOnTheHostWhereTheGpuOverlooksFaults) {
  std::int64_t elements = 1000;
  for (const char* faulty : {"CompareLane", "JoinComparisons"})
    for (const double fault : {0.0, 3.0}) {
      const SumProblem problem(++elements, Precision::fp32, false);  // not compared before
      const Trial trial(sum_oracle(problem), problem.tensors(), false);
      const TensorSpec& spec = trial.specs[2];
      const auto tensor = trial.output(spec, elements / 3, fault);
      const OutputCheck here = check_output(gpu(), *tensor, trial.expectation(spec, false));
      setenv("FAKE_GPU_OVERLOOKS", faulty, 1);
      const OutputCheck there = check_output(gpu(), *tensor, trial.expectation(spec, true));
      unsetenv("FAKE_GPU_OVERLOOKS");
      EXPECT_NE(here.failure, "");
      EXPECT_EQ(there.failure, here.failure) << faulty;
      EXPECT_EQ(there.wrong_elements, 1) << faulty;
    }
}

/// A GPU whose arithmetic is wrong is not believed.
TEST(Prover, IsNotBelievedWhereItDiffersFromTheHost) {
  const SumProblem problem(5000, Precision::fp32, false);
  const Trial trial(sum_oracle(problem), problem.tensors(), false);
  const TensorSpec& spec = trial.specs[2];
  const auto tensor = trial.output(spec, -1, 0);
  Expectation there = trial.expectation(spec, true);
  there.formula->inputs = {"a", "a"};  // as if the GPU had added another tensor
  there.formula->name = "sum dst";
  class Forgetful final : public Device {
   public:
    std::string name() const override { return gpu().name(); }
    Stream& stream() override { return gpu().stream(); }
    std::unique_ptr<Tensor> allocate(const TensorSpec& of) override { return gpu().allocate(of); }
    void put(Tensor& to, const Source& source) override { gpu().put(to, source); }
    void get(Tensor& from, const Sink& sink) override { gpu().get(from, sink); }
    std::size_t memory_available() const override { return gpu().memory_available(); }
    std::size_t cache_bytes() const override { return gpu().cache_bytes(); }
    Prover* prover() override { return &prover_; }

   private:
    /// Has not been believed of anything.
    class New final : public Prover {
     public:
      std::optional<ElementComparison> compare(Tensor& output, ElementRange range,
                                               const ElementFormula& formula,
                                               const Inputs& inputs) override {
        return gpu().prover()->compare(output, range, formula, inputs);
      }
      std::optional<std::vector<Expected>> expect(const ElementFormula& formula,
                                                  const Inputs& inputs,
                                                  std::span<const std::int64_t> indices) override {
        return gpu().prover()->expect(formula, inputs, indices);
      }
      std::optional<std::vector<double>> sum(const ElementFormula& formula, const Inputs& inputs,
                                             const Channels& over) override {
        return gpu().prover()->sum(formula, inputs, over);
      }
    } prover_;
  } device;
  for (const char* time : {"first", "second"}) try {
      check_output(device, *tensor, there);
      FAIL() << "believed the " << time << " time";
    } catch (const CaseError& error) {
      EXPECT_NE(std::string(error.what()).find("the GPU expects"), std::string::npos)
          << error.what();
    }
}

}  // namespace test_prover
}  // namespace assay
