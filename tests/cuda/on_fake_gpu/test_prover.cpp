// References that the GPU computes beside those of the host.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "core/base/error.hpp"
#include "kernels/activation/problem.hpp"
#include "kernels/concat/problem.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/convert/problem.hpp"
#include "kernels/copy/problem.hpp"
#include "kernels/dropout/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/pool/problem.hpp"
#include "kernels/resize/problem.hpp"
#include "kernels/stream/problem.hpp"
#include "kernels/sum/problem.hpp"
#include "kernels/update/problem.hpp"
#include "prover_trial.hpp"

namespace assay {
namespace test_prover {

using namespace prover_trial;

TEST(Prover, JudgesNormsAsTheHost) {
  for (const Precision precision : precisions)
    for (const std::string& direction : list_names<NormDirection>())
      for (const std::string& fusion : list_names<NormFusion>())
        for (const bool nhwc : {false, true}) {
          const NormProblem problem(parse_norm("mb3ic5ih7iw9"),
                                    parse_name<NormDirection>(direction),
                                    parse_name<NormFusion>(fusion), precision);
          expect_same_verdicts(make_norm_oracle(problem), problem.tensors(), nhwc);
          expect_same_verdicts(make_norm_oracle(problem), problem.tensors(), nhwc, true);
          ASSERT_FALSE(HasFailure()) << direction << fusion << name(precision) << nhwc;
        }
}

TEST(Prover, JudgesPoolsAsTheHost) {
  for (const Precision precision : precisions)
    for (const std::string& direction : list_names<PoolDirection>())
      for (const std::string& mode : list_names<PoolMode>())
        for (const char* shape :
             {"mb2ic3ih12kh3sh2ph1", "mb1ic5ih9kh2sh3", "mb1ic2ih9iw6oh5ow3kh3kw4sh2sw1ph1pw0"})
          for (const bool nhwc : {false, true}) {
            const PoolProblem problem(parse_pool(shape), parse_name<PoolDirection>(direction),
                                      parse_name<PoolMode>(mode), precision);
            expect_same_verdicts(make_pool_oracle(problem), problem.tensors(), nhwc);
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
            expect_same_verdicts(make_resize_oracle(problem), problem.tensors(), nhwc);
            ASSERT_FALSE(HasFailure()) << name(direction) << shape << name(precision) << nhwc;
          }
}

TEST(Prover, JudgesSumsAsTheHost) {
  for (const Precision precision : precisions) {
    const SumProblem problem(1000003 / 64, precision, false);
    for (const bool stored : {false, true})
      expect_same_verdicts(make_sum_oracle(problem), problem.tensors(), false, stored);
    ASSERT_FALSE(HasFailure()) << name(precision);
  }
}

TEST(Prover, JudgesConcatenationsAsTheHost) {
  for (const Precision precision : precisions)
    for (const auto direction : {ConcatDirection::forward, ConcatDirection::backward})
      for (const char* shape :
           {"mb3ca5cb3ih7iw9", "mb1ca1cb2cc4ih30", "mb2ca8cb7cc6cd5ce4cf3cg2ch16ih9"})
        for (const bool nhwc : {false, true}) {
          const ConcatProblem problem(parse_concat(shape), direction, precision);
          expect_same_verdicts(make_concat_oracle(problem), problem.tensors(), nhwc, nhwc);
          ASSERT_FALSE(HasFailure()) << name(direction) << shape << name(precision) << nhwc;
        }
}

TEST(Prover, JudgesConversionsAsTheHost) {
  for (const Precision precision : {Precision::bf16_fp32, Precision::fp16_fp32})
    for (const bool stored : {false, true}) {
      const ConvertProblem problem(20011, precision);
      expect_same_verdicts(convert_oracle(problem), problem.tensors(), false, stored);
      ASSERT_FALSE(HasFailure()) << name(precision) << stored;
    }
}

/// There and back: the destinations have different sources.
TEST(Prover, JudgesCopiesAsTheHost) {
  const CopyProblem problem({80008, "pinned", "gpu0", true}, {});
  expect_same_verdicts(make_copy_oracle(problem), problem.tensors(), false);
}

TEST(Prover, JudgesActivationsAsTheHost) {
  for (const Precision precision : precisions)
    for (const std::string& direction : list_names<ActivationDirection>())
      for (const std::string& function : list_names<ActivationFunction>())
        for (const bool bias : {false, true}) {
          const ActivationProblem problem(
              parse_activation("mb3ic5ih7iw9"), parse_name<ActivationDirection>(direction),
              parse_name<ActivationFunction>(function), bias, precision);
          if (why_not_precision(problem)) continue;
          expect_same_verdicts(make_activation_oracle(problem), problem.tensors(), bias);
          ASSERT_FALSE(HasFailure()) << direction << function << name(precision) << bias;
        }
}

TEST(Prover, JudgesDropoutsAsTheHost) {
  for (const Precision precision : precisions)
    for (const auto direction : {DropoutDirection::forward, DropoutDirection::backward})
      for (const bool nhwc : {false, true}) {
        const DropoutProblem problem(parse_dropout("mb3ic5ih7iw9p0.3k6000000000"), direction,
                                     precision);
        expect_same_verdicts(make_dropout_oracle(problem), problem.tensors(), nhwc);
        ASSERT_FALSE(HasFailure()) << name(direction) << name(precision) << nhwc;
      }
}

UpdateProblem update_of(const std::string& rule, Precision precision) {
  return UpdateProblem({parse_name<UpdateRule>(rule),
                        0.9,
                        0.01,
                        0.05,
                        {{9000, true, true}, {70, false, false}, {9001, true, true}}},
                       precision);
}

TEST(Prover, LeavesFormulasOfTooManyInputsToTheHost) {
  const SumProblem problem(5001, Precision::fp32, false);
  const Trial trial(make_sum_oracle(problem), problem.tensors(), false);
  const TensorSpec& spec = trial.specs[2];
  auto formula = trial.oracle->formula(spec, *trial.inputs, Execution{}, false);
  const std::vector<std::int64_t> some{0, 17};
  Prover& prover = *gpu().prover();
  EXPECT_TRUE(prover.expect(*formula, *trial.inputs, some));
  formula->inputs.resize(5, "a");
  EXPECT_FALSE(prover.expect(*formula, *trial.inputs, some));
  const auto tensor = trial.output(spec, -1, 0);
  EXPECT_FALSE(prover.compare(*tensor, {0, spec.elements()}, *formula, *trial.inputs));
}

/// It is checked before others believe them.
TEST(Prover, IsNotBelievedWhereItsSumsDifferFromTheHosts) {
  ONLY_ON_THE_FAKE_GPU();
  for (const char* item : {"SquareSums", "StaleSums"}) {
    const LostThreads lost(item);
    const UpdateProblem problem = update_of("sgd", Precision::fp32);
    const Trial trial(make_update_oracle(problem), problem.tensors(), false);
    try {
      trial.oracle->formula(trial.specs[3], *trial.inputs, Execution{}, false);
      FAIL() << item;
    } catch (const CaseError& error) {
      EXPECT_NE(std::string(error.what()).find("the GPU finds"), std::string::npos) << error.what();
    }
  }
}

/// Sums of one code that it has shown are not those of other extents, types or inputs.
TEST(Prover, IsBelievedOfTheSumsAloneThatItHasShown) {
  ONLY_ON_THE_FAKE_GPU();
  const auto sum = [](std::unique_ptr<Oracle> oracle, const std::vector<TensorSpec>& specs,
                      bool stored) {
    static std::uint64_t seed = 100;  // memory may hold the sums of equal inputs
    const Trial trial(std::move(oracle), specs, false, stored, ++seed);
    const auto output = std::ranges::find_if(trial.specs, is_output);
    trial.oracle->formula(*output, *trial.inputs, Execution{}, false);
  };
  const auto norm = [&](const char* shape, bool stored) {
    const NormProblem problem(parse_norm(shape), NormDirection::forward_training, NormFusion::none,
                              Precision::fp32);
    sum(make_norm_oracle(problem), problem.tensors(), stored);
  };
  const auto update = [&](Precision precision, bool stored) {
    const UpdateProblem problem = update_of("sgd", precision);
    sum(make_update_oracle(problem), problem.tensors(), stored);
  };
  norm("mb2ic3ih5iw4", false);
  update(Precision::fp32, false);
  const LostThreads lost("SumChannelPart");
  norm("mb2ic3ih5iw4", false);  // is believed
  update(Precision::fp32, false);
  EXPECT_THROW(norm("mb2ic3ih5iw6", false), CaseError);
  EXPECT_THROW(norm("mb2ic3ih5iw4", true), CaseError);
  EXPECT_THROW(update(Precision::fp64, false), CaseError);
  EXPECT_THROW(update(Precision::fp32, true), CaseError);
}

TEST(Prover, JudgesUpdatesAsTheHost) {
  for (const std::string& rule : list_names<UpdateRule>())
    for (const Precision precision : precisions)
      for (const bool stored : {false, true}) {
        if (stored && precision != Precision::fp32 && precision != Precision::fp16) continue;
        const UpdateProblem problem = update_of(rule, precision);
        expect_same_verdicts(make_update_oracle(problem), problem.tensors(), false, stored);
        ASSERT_FALSE(HasFailure()) << rule << name(precision) << stored;
      }
}

TEST(Prover, ComparesAllOfStreamsAsTheHost) {
  for (const char* kernel : {"copy", "scale", "add", "triad"})
    for (const Precision precision : {Precision::fp64, Precision::fp32}) {
      const StreamProblem problem(parse_stream(kernel + std::string("_n70000")), precision, 1);
      EXPECT_FALSE(make_stream_oracle(problem)->whole(problem.tensors().back()));
      expect_same_verdicts(make_stream_oracle(problem), problem.tensors(), false);
      ASSERT_FALSE(HasFailure()) << kernel << name(precision);
    }
}

/// Elements of one size that it has shown are none of another.
TEST(Prover, IsBelievedOfTheShapesAloneThatItHasShown) {
  ONLY_ON_THE_FAKE_GPU();
  const auto check = [](std::int64_t n, std::uint64_t seed) {
    const StreamProblem problem(parse_stream(fmt::format("copy_n{}", n)), Precision::fp64, 1);
    const Trial trial(make_stream_oracle(problem), problem.tensors(), false, false, seed);
    const TensorSpec& spec = trial.specs.back();
    const auto tensor = trial.output(spec, -1, 0);
    return check_output(gpu(), *tensor, trial.expectation(spec, true)).failure;
  };
  EXPECT_EQ(check(4000, 1), "");
  const LostThreads lost("ExpectElement");
  EXPECT_EQ(check(4000, 1), "");  // is believed
  EXPECT_THROW(check(4001, 2), CaseError);
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
      const Trial trial(problem == &norm ? make_norm_oracle(norm) : make_update_oracle(update),
                        problem == &norm ? norm.tensors() : update.tensors(), false, true, seed);
      for (const TensorSpec& spec : trial.specs) {
        const Expectation there = trial.expectation(spec, true);
        if (!is_output(spec) || !there.formula) continue;
        const auto tensor = gpu().allocate(spec);
        gpu().fill(*tensor, 0);
        EXPECT_NE(check_output(gpu(), *tensor, there).failure, "");
      }
    }
    const Trial trial(make_conv_oracle(conv), conv.tensors(), true, true, seed);
    const std::vector<std::int64_t> some{0, 17};
    std::vector<Expected> expected(2);
    trial.oracle->expect(trial.specs[2], *trial.inputs, Execution{}, false, some, expected);
    if (seed > 1 && fake_gpu::counter != nullptr) {
      EXPECT_LT(crossed() - before, 40000u);
    }
  }
}

TEST(Prover, LeavesToTheHostWhatItHasNoRoomFor) {
  ONLY_ON_THE_FAKE_GPU();
  const UpdateProblem problem = update_of("lamb", Precision::fp32);
  for (const bool stored : {false, true}) {
    const Trial trial(make_update_oracle(problem), problem.tensors(), false, stored);
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
  ONLY_ON_THE_FAKE_GPU();
  std::int64_t elements = 1000;
  for (const char* faulty : {"CompareLane", "JoinComparisons"})
    for (const double fault : {0.0, 3.0}) {
      const SumProblem problem(++elements, Precision::fp32, false);  // not compared before
      const Trial trial(make_sum_oracle(problem), problem.tensors(), false);
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
  const Trial trial(make_sum_oracle(problem), problem.tensors(), false);
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
