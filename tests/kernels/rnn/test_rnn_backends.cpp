// The backends of recurrent networks against the oracle, through the plugins and the workload as
// the programs use them, and faults that verification must find.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>

#include "assay/test_paths.hpp"
#include "core/measure/workload.hpp"
#include "core/program/plugins.hpp"
#include "kernels/rnn/problem.hpp"
#include "tests/kernels/broken_operation.hpp"

namespace assay {
namespace test_rnn_backends {

using broken::BrokenOperation;
using broken::Fault;

Plugins& plugins() {
  static Plugins all({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  return all;
}

struct Bench {
  explicit Bench(const std::string& name) {
    Result<Backend*> opened = plugins().open(name);
    if (const auto* no = std::get_if<Unsupported>(&opened))
      reason = no->reason;
    else
      backend = std::get<Backend*>(opened);
  }
  /// Null with the reason where the backend has no such operation. `judged`: as another problem's.
  std::unique_ptr<Workload> make(const RnnProblem& problem, std::optional<Fault> fault = {},
                                 double budget = 1e9, int threads = 1,
                                 const RnnProblem* judged = nullptr) {
    Options options;
    options.threads = threads;
    Device& device = *std::get<Device*>(backend->device(options));
    Result<std::unique_ptr<Operation>> made = backend->make(problem, options, *ranks);
    if (const auto* no = std::get_if<Unsupported>(&made)) {
      reason = no->reason;
      return nullptr;
    }
    auto operation = std::move(std::get<std::unique_ptr<Operation>>(made));
    execution = operation->execution();
    if (fault) operation = std::make_unique<BrokenOperation>(std::move(operation), device, *fault);
    OperationSetup setup;
    setup.reference_budget = budget;
    return make_operation_workload(problem, std::move(operation), device,
                                   make_rnn_oracle(judged == nullptr ? problem : *judged), 0,
                                   setup);
  }
  Backend* backend = nullptr;
  std::unique_ptr<Communicator> ranks = make_serial_communicator();
  Execution execution;
  std::string reason;
};

RnnProblem problem(const std::string& text, RnnInput input, RnnDirection direction,
                   Precision precision = Precision::fp32) {
  return RnnProblem(parse_rnn(text), input, direction, precision);
}

std::string text_of(const RnnProblem& of) {
  return of.canonical() + " " + name(of.input()) + " " + name(of.direction()) + " " +
         std::string(name(of.precision()));
}

/// It runs both passes, a run, and an audit with other inputs.
void expect_right(Bench& bench, const RnnProblem& of, int threads = 1) {
  auto workload = bench.make(of, {}, 1e9, threads);
  ASSERT_TRUE(workload) << text_of(of) << ": " << bench.reason;
  const Verification before = workload->verify_before();
  ASSERT_TRUE(before.passed) << text_of(of) << ": " << before.reason;
  for (const Audit audit : {Audit::poisoned_outputs, Audit::new_inputs}) {
    workload->begin_audit(audit);
    workload->reset();
    workload->run(workload->stream());
    const Verification found = workload->end_audit();
    ASSERT_TRUE(found.passed) << text_of(of) << ": " << found.reason;
  }
  const Verification after = workload->verify_after();
  ASSERT_TRUE(after.passed) << text_of(of) << ": " << after.reason;
  // Rounding to the type of the output alone may reach its bound.
  if (of.precision() == Precision::fp32) {
    EXPECT_LT(before.error_over_bound, 0.6) << text_of(of);
  }
}

std::vector<std::string> shapes_of(const std::string& cell) {
  return {cell + ":5-6-1",     cell + ":7-3-5",     cell + ":33-5-7-i20",
          cell + ":16-4-3-bi", cell + ":20-3-4-l2", cell + ":12-3-4-l2-bi"};
}

class RnnBackend : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, RnnBackend, testing::Values("reference", "onednn", "native"));

TEST_P(RnnBackend, EqualsTheOracle) {
  Bench bench(GetParam());
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  int made = 0;
  for (const std::string& cell : list_names<RnnCell>())
    for (const std::string& shape : shapes_of(cell))
      for (const RnnInput input : {RnnInput::linear, RnnInput::skip})
        for (const std::string& direction : list_names<RnnDirection>())
          for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
            if (input == RnnInput::skip && shape.find("-i") != std::string::npos) continue;
            // A state that 16 bits round to the other side of zero changes a gradient wholly.
            if (precision != Precision::fp32 && cell == "vanilla_relu" &&
                direction.starts_with("bwd"))
              continue;
            const RnnProblem of =
                problem(shape, input, parse_name<RnnDirection>(direction), precision);
            if (!bench.make(of)) {
              EXPECT_FALSE(bench.reason.empty());
              continue;
            }
            ++made;
            expect_right(bench, of);
            if (HasFatalFailure()) return;
          }
  EXPECT_GT(made, 50);
}

TEST_P(RnnBackend, DividesItsWorkAmongThreads) {
  Bench bench(GetParam());
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const std::string& cell : list_names<RnnCell>())
    for (const RnnDirection direction : {RnnDirection::forward_training, RnnDirection::bwd})
      expect_right(bench, problem(cell + ":70-3-2", RnnInput::linear, direction), 2);
}

/// Only a name that says in which instructions its products are formed tells the arithmetic.
TEST(OneDnnRnn, TellsTheArithmeticOfBf16ByTheNameOfItsImplementation) {
  Bench bench("onednn");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const RnnDirection direction : {RnnDirection::forward_inference, RnnDirection::bwd}) {
    ASSERT_TRUE(bench.make(problem("lstm:64-16-3", RnnInput::linear, direction))) << bench.reason;
    EXPECT_EQ(bench.execution.compute, "fp32");
    if (!bench.make(problem("lstm:64-16-3", RnnInput::linear, direction, Precision::bf16)))
      GTEST_SKIP() << bench.reason;
    const bool tells = bench.execution.implementation.find("bf16") != std::string::npos ||
                       bench.execution.implementation.find("amx") != std::string::npos;
    EXPECT_EQ(bench.execution.compute, tells ? "bf16" : "") << bench.execution.implementation;
  }
}

/// More rows than a register block has, more products than go together, and odd rests of both.
TEST(NativeRnn, DividesLargeProducts) {
  Bench bench("native");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const char* shape :
       {"lstm:150-37-2-i300", "gru:150-37-2", "vanilla_tanh:290-19-2", "vanilla_tanh:20-9-2-i2100"})
    for (const Precision precision : {Precision::fp32, Precision::bf16})
      for (const RnnDirection direction : {RnnDirection::forward_inference, RnnDirection::bwd})
        expect_right(bench, problem(shape, RnnInput::linear, direction, precision), 2);
}

/// bf16 is never the name of arithmetic in fp32, nor the other way round.
TEST(NativeRnn, SaysWhatItMultiplies) {
  Bench bench("native");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const std::string& direction : list_names<RnnDirection>())
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
      ASSERT_TRUE(bench.make(
          problem("lstm:8-2-3", RnnInput::linear, parse_name<RnnDirection>(direction), precision)));
      const bool pairs = bench.execution.implementation.ends_with("_BF16");
      EXPECT_EQ(bench.execution.compute, pairs ? "bf16" : "fp32") << direction;
      EXPECT_EQ(bench.execution.accumulate, "fp32");
      if (precision != Precision::bf16 || direction.starts_with("bwd")) {
        EXPECT_FALSE(pairs) << direction;
      }
    }
}

/// native takes as many steps at once as have 4096 rows: here 2 of 5.
TEST(NativeRnn, TakesLongSequencesInParts) {
  Bench bench("native");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const char* shape : {"lstm:3-2100-5-bi", "gru:3-2100-5"})
    for (const RnnDirection direction : {RnnDirection::forward_inference, RnnDirection::bwd})
      expect_right(bench, problem(shape, RnnInput::linear, direction));
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    expect_right(bench, problem("gru:3-2100-5-bi", RnnInput::skip, RnnDirection::forward_inference,
                                precision));
}

TEST(NativeRnn, NeedsNoMoreMemoryForLongerSequences) {
  Bench bench("native");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const std::string shape : {"lstm:16-64-", "gru:16-64-", "gru_lbr:16-64-"})
    for (const RnnInput input : {RnnInput::linear, RnnInput::skip}) {
      const auto bytes = [&](const std::string& steps) {
        EXPECT_TRUE(bench.make(problem(shape + steps, input, RnnDirection::forward_inference)))
            << bench.reason;
        return bench.execution.workspace_bytes;
      };
      EXPECT_EQ(bytes("1500"), bytes("128")) << shape;
    }
}

/// For each direction, the outputs in which a fault must show.
const std::pair<RnnDirection, std::vector<std::string>> outputs[] = {
    {RnnDirection::forward_inference, {"dst_layer", "dst_iter", "dst_iter_c"}},
    {RnnDirection::forward_training, {"dst_layer", "dst_iter", "dst_iter_c"}},
    {RnnDirection::bwd_data, {"diff_src_layer", "diff_src_iter", "diff_src_iter_c"}},
    {RnnDirection::bwd_weights, {"diff_weights_layer", "diff_weights_iter", "diff_bias"}},
    {RnnDirection::bwd, {"diff_src_layer", "diff_weights_iter", "diff_bias"}}};

TEST(RnnVerification, FindsOneWrongElementNaNAndInfinity) {
  Bench bench("reference");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const auto& [direction, names] : outputs)
    for (const std::string& output : names)
      for (const Precision precision : {Precision::fp32, Precision::bf16})
        for (const std::optional<double> error :
             {std::optional<double>(), std::optional(std::nan("")), std::optional(HUGE_VAL),
              std::optional(-HUGE_VAL)}) {
          const RnnProblem of = problem("lstm:33-5-7", RnnInput::linear, direction, precision);
          Fault fault;
          fault.output = output;
          fault.error = error;
          const Verification found = bench.make(of, fault)->verify_before();
          EXPECT_TRUE(found.wrong()) << text_of(of) << " " << output << " " << error.value_or(1);
          EXPECT_NE(found.reason.find(output), std::string::npos) << found.reason;
        }
}

/// Several register blocks, threads and odd rests: a fault that small shapes cannot have.
TEST(RnnVerification, FindsOneWrongElementOfLargerNetworks) {
  Bench bench("native");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  for (const std::string& cell : list_names<RnnCell>())
    for (const auto& [direction, names] : outputs)
      for (std::string output : names) {
        if (output.ends_with("_c") && cell != "lstm") continue;
        const RnnProblem of = problem(cell + ":150-37-6", RnnInput::linear, direction);
        Fault fault;
        fault.output = output;
        const Verification found = bench.make(of, fault, 1e9, 2)->verify_before();
        EXPECT_TRUE(found.wrong()) << text_of(of) << " " << output;
        EXPECT_TRUE(found.reason.starts_with(output + "[")) << found.reason;
      }
}

TEST(RnnVerification, FindsCoarserArithmeticUnderTheNameOfFp32) {
  Bench bench("reference");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const auto& [direction, names] : outputs)
    for (const std::string& cell : list_names<RnnCell>())
      for (const char* shape : {":64-4-20", ":256-2-4"})
        for (const int bits : {11, 8}) {
          const RnnProblem of = problem(cell + shape, RnnInput::linear, direction);
          Fault fault;
          fault.operand_bits = bits;
          const Verification found = bench.make(of, fault)->verify_before();
          EXPECT_TRUE(found.wrong()) << text_of(of) << " " << bits << " bits";
        }
}

TEST(RnnVerification, JudgesTf32ByTheDigitsOfItsOperands) {
  Bench bench("reference");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const auto& [direction, names] : outputs)
    for (const char* cell : {"vanilla_tanh", "lstm", "gru", "gru_lbr"})
      for (const int bits : {11, 6}) {
        const RnnProblem of = problem(cell + std::string(":64-4-20"), RnnInput::linear, direction),
                         tf32 = problem(of.canonical(), of.input(), direction, Precision::tf32);
        Fault fault;
        fault.operand_bits = bits;
        const Verification found = bench.make(of, fault, 1e9, 1, &tf32)->verify_before();
        EXPECT_EQ(found.passed, bits == 11)
            << text_of(tf32) << " " << bits << " bits: " << found.reason;
      }
}

/// With a small budget of the reference, draws after that of the timed runs have gradients of the
/// results in two rows of the batch; the timed runs go on with those of all.
TEST(RnnVerification, LaterDrawsOfWeightGradientsHaveFewRows) {
  Bench bench("reference");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const std::string& cell : list_names<RnnCell>())
    for (const RnnDirection direction : {RnnDirection::bwd_weights, RnnDirection::bwd}) {
      const RnnProblem of = problem(cell + ":33-9-7-l2-bi", RnnInput::skip, direction);
      auto workload = bench.make(of, {}, 1);
      const Verification before = workload->verify_before();
      ASSERT_TRUE(before.passed) << text_of(of) << ": " << before.reason;
      for (const Audit audit : {Audit::new_inputs, Audit::poisoned_outputs, Audit::new_inputs}) {
        workload->begin_audit(audit);
        workload->reset();
        workload->run(workload->stream());
        const Verification found = workload->end_audit();
        ASSERT_TRUE(found.passed) << text_of(of) << ": " << found.reason;
        EXPECT_GT(found.norm_error, 0) << text_of(of);
        EXPECT_LT(found.error_over_bound, 0.6) << text_of(of);
      }
      const Verification after = workload->verify_after();
      ASSERT_TRUE(after.passed) << text_of(of) << ": " << after.reason;
    }
}

TEST(RnnVerification, FindsFaultsInLaterDrawsOfWeightGradients) {
  Bench bench("reference");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const char* cell : {"vanilla_tanh", "lstm", "gru", "gru_lbr"})
    for (const char* output : {"diff_weights_layer", "diff_weights_iter", "diff_bias"}) {
      const RnnProblem of =
          problem(cell + std::string(":33-9-7"), RnnInput::linear, RnnDirection::bwd_weights);
      Fault fault;
      fault.output = output;
      fault.from_run = 3;
      auto workload = bench.make(of, fault, 1);
      ASSERT_TRUE(workload->verify_before().passed);
      workload->begin_audit(Audit::new_inputs);
      workload->reset();
      workload->run(workload->stream());
      EXPECT_TRUE(workload->end_audit().wrong()) << text_of(of) << " " << output;
    }
}

/// True if an audit with other inputs finds a fault that the checks before timing cannot see.
bool is_found_later(Bench& bench, const RnnProblem& of, const Fault& fault) {
  auto workload = bench.make(of, fault);
  EXPECT_TRUE(workload->verify_before().passed) << text_of(of);
  workload->begin_audit(Audit::new_inputs);
  workload->reset();
  workload->run(workload->stream());
  return workload->end_audit().wrong();
}

TEST(RnnVerification, FindsWhatWasSavedForOtherInputs) {
  Bench bench("reference");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const RnnDirection direction :
       {RnnDirection::bwd_data, RnnDirection::bwd_weights, RnnDirection::bwd}) {
    Fault fault;
    fault.keeps_saved = true;
    EXPECT_TRUE(is_found_later(bench, problem("gru:9-3-4", RnnInput::skip, direction), fault))
        << name(direction);
  }
}

TEST(RnnVerification, FindsWeightsPackedOfOtherInputs) {
  Bench bench("native");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const RnnDirection direction :
       {RnnDirection::forward_inference, RnnDirection::forward_training, RnnDirection::bwd_data})
    for (const bool keeps : {false, true}) {
      Fault fault;
      fault.keeps_saved = keeps;
      const RnnProblem of = problem("gru:9-3-4-l2", RnnInput::linear, direction);
      EXPECT_EQ(is_found_later(bench, of, fault), keeps) << name(direction);
    }
}

TEST(NativeRnn, PacksWeightsWithinTheRunWhereItWidensThem) {
  Bench bench("native");
  ASSERT_TRUE(bench.backend) << bench.reason;
  for (const auto& [precision, layout] : {std::pair(Precision::fp32, "packed before the run"),
                                          std::pair(Precision::fp16, "packed within the run")}) {
    ASSERT_TRUE(bench.make(
        problem("lstm:8-2-3", RnnInput::linear, RnnDirection::forward_inference, precision)));
    EXPECT_NE(bench.execution.layout.find(layout), std::string::npos) << bench.execution.layout;
  }
}

TEST(OneDnnRnn, SaysWhatItHasNot) {
  Bench bench("onednn");
  if (bench.backend == nullptr) GTEST_SKIP() << bench.reason;
  EXPECT_FALSE(bench.make(problem("lstm:8-2-3", RnnInput::skip, RnnDirection::bwd)));
  EXPECT_NE(bench.reason.find("skipped input"), std::string::npos) << bench.reason;
  for (const RnnDirection direction : {RnnDirection::bwd_data, RnnDirection::bwd_weights}) {
    EXPECT_FALSE(bench.make(problem("lstm:8-2-3", RnnInput::linear, direction)));
    EXPECT_NE(bench.reason.find("--direction bwd"), std::string::npos) << bench.reason;
  }
}

}  // namespace test_rnn_backends
}  // namespace assay
