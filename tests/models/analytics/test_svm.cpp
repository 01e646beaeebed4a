#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analytics_fixture.hpp"
#include "core/base/error.hpp"
#include "datasets/file_table.hpp"
#include "datasets/synthetic.hpp"
#include "models/svm/benchmark.hpp"
#include "models/svm/svm.hpp"
#include "tests/datasets/data_files.hpp"

namespace assay {
namespace test_svm {

using fixture::metrics_on_ranks;

TEST(Svm, TheSameOnAnyNumberOfRanks) {
  for (const char* algorithm : {"newton", "nelder_mead"}) {
    const fixture::Flags flags{{"algorithm", algorithm},
                               {"problem", "n811d7"},
                               {"backend", "reference"},
                               {"evaluations", "150"}};
    const auto one = metrics_on_ranks(svm_benchmark(), flags, 1);
    for (const int ranks : {2, 3, 4}) {
      const auto several = metrics_on_ranks(svm_benchmark(), flags, ranks);
      EXPECT_NEAR(several.at("objective").value / one.at("objective").value, 1, 1e-9) << algorithm;
      EXPECT_EQ(several.at("evaluations").value, one.at("evaluations").value);
    }
  }
}

TEST(Svm, ReachesSmallGapsAndTheBayesError) {
  for (const char* gap : {"0.1", "0.001", "1e-06"}) {
    const auto found = metrics_on_ranks(
        svm_benchmark(), {{"problem", "n20000d10"}, {"gap", gap}, {"backend", "native"}}, 2);
    EXPECT_LE(found.at("duality_gap").value, std::stod(gap) * 1.001);
    EXPECT_NEAR(found.at("accuracy").value, 0.9, 0.01);
    EXPECT_LT(found.at("evaluations").value, 200);
  }
}

TEST(Svm, PrecisionsAndShapes) {
  for (const std::string& backend : fixture::host_backends())
    for (const char* precision : {"fp64", "fp32"})
      for (const char* problem : {"n20d30", "n1000d1", "n2000d37"})
        metrics_on_ranks(svm_benchmark(),
                         {{"backend", backend}, {"precision", precision}, {"problem", problem}}, 2);
}

TEST(Svm, TellsWhatItComputed) {
  constexpr double rows = 811, width = 8;
  for (const int ranks : {1, 3})
    for (const char* algorithm : {"newton", "nelder_mead"})
      for (const fixture::CaseRun& ran : fixture::run_on_ranks(
               svm_benchmark(),
               {{"algorithm", algorithm}, {"problem", "n811d7"}, {"evaluations", "150"}}, ranks)) {
        const double evaluations = ran.metrics.at("evaluations").value;
        const double of_objective = evaluations * 4 * rows * width;
        EXPECT_EQ(ran.execution.numbers.at("passes"), evaluations);
        if (std::string(algorithm) == "nelder_mead") {  // no gradient: only the products with w
          EXPECT_EQ(ran.execution.algorithmic_flops, of_objective / 2);
          continue;
        }
        EXPECT_GT(ran.execution.algorithmic_flops, of_objective);
        EXPECT_LT(ran.execution.algorithmic_flops,
                  of_objective + evaluations * rows * width * (width + 1));
      }
  // A part of so many rows is solved first, and counts; but it is no pass over the table.
  const fixture::CaseRun ran = fixture::run_on_ranks(
      svm_benchmark(), {{"algorithm", "newton"}, {"problem", "n20000d7"}}, 1)[0];
  EXPECT_EQ(ran.execution.numbers.at("passes"), ran.metrics.at("evaluations").value);
}

TEST(Svm, MemoryCountsWhatEachRowHasBesideItsFeatures) {
  for (const char* algorithm : {"newton", "nelder_mead"}) {
    const Case selected = fixture::one_case(
        svm_benchmark(), {{"problem", "n1000000d1"}, {"algorithm", algorithm}}, 1);
    const auto& svm = dynamic_cast<const AnalyticsBenchmark&>(svm_benchmark());
    const auto& settings = typed_settings<AnalyticsSettings>(selected);
    EXPECT_GE(svm.memory(settings, 1000000, 1).device, 16e6) << algorithm;
    EXPECT_GE(svm.memory(settings, 2, 100000000).host, 1e17) << algorithm;
  }
}

TEST(Svm, SeparableDataAreSolved) {
  const auto found = metrics_on_ranks(
      svm_benchmark(), {{"problem", "n500d20"}, {"data", "coral2"}, {"backend", "reference"}}, 2);
  EXPECT_EQ(found.at("accuracy").value, 1);
}

/// Changes the sums that a kernel has computed ("losses", "direction", "h").
using Spoil = std::function<void(const std::string& name, std::span<double> sums)>;

/// A kernel with sums that a test spoils.
class SpoilingCommunicator final : public Operation {
 public:
  SpoilingCommunicator(std::unique_ptr<Operation> inner, Spoil spoil)
      : inner_(std::move(inner)), spoil_(std::move(spoil)) {}
  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override {
    tensors_.assign(tensors.begin(), tensors.end());
    inner_->bind(tensors);
  }
  void run(Stream& stream) override {
    inner_->run(stream);
    stream.wait();
    for (Tensor* const tensor : tensors_)
      if (const TensorSpec& spec = tensor->spec();
          spec.name == "losses" || spec.name == "direction" || spec.name == "h")
        spoil_(spec.name,
               {static_cast<double*>(tensor->data()), static_cast<std::size_t>(spec.elements())});
  }
  Execution execution() const override { return inner_->execution(); }

 private:
  std::unique_ptr<Operation> inner_;
  Spoil spoil_;
  std::vector<Tensor*> tensors_;
};

/// An objective of the backend `reference` in fp64, whose kernel is spoilt.
std::unique_ptr<SvmObjective> spoilt(const AnalysisCase& from, const Spoil& spoil) {
  Backend& backend = *std::get<Backend*>(fixture::plugins().open("reference"));
  Device& device = *std::get<Device*>(backend.device({}));
  const auto make = [&](const LinalgProblem& problem) {
    return std::move(
        std::get<std::unique_ptr<Operation>>(backend.make(problem, Options{}, from.ranks)));
  };
  auto hinge = std::make_unique<AnalyticsStep>(
      std::make_unique<SpoilingCommunicator>(
          make(make_hinge_problem(from.rows, from.features, from.precision)), spoil),
      device, std::map<std::string, Tensor*>{}, 0);
  auto hessian = std::make_unique<AnalyticsStep>(
      std::make_unique<SpoilingCommunicator>(
          make(make_hessian_problem(from.rows, from.features, from.precision)), spoil),
      device,
      std::map<std::string, Tensor*>{{"x", &hinge->tensor("x")}, {"s", &hinge->tensor("s")}}, 0);
  return std::make_unique<SvmObjective>(from, static_cast<double>(from.rows), 1, std::move(hinge),
                                        std::move(hessian));
}

/// A solution by Newton's method, to a gap of 1e-6 unless rounding prevents it.
struct Solved {
  std::unique_ptr<DataTable> table;
  RowPass all;
  SvmSettings settings;
  SvmClaims claims;
  SvmSolution solution;
  std::unique_ptr<Communicator> ranks = make_serial_communicator();

  Solved(std::int64_t rows, std::int64_t features, Precision precision, double gap,
         const Spoil& spoil = {}, int evaluations = 20000)
      : table(sign_labels(std::make_unique<ClassTable>(SyntheticSize{rows, features, 3}))),
        all{{0, rows}, storage(precision), true, 1} {
    settings.gap = gap;
    settings.evaluations = evaluations;
    claims.rows = rows;
    claims.features = features;
    claims.type = all.type;
    claims.gap = gap;
    claims.evaluations = evaluations;
    CaseContext context{fixture::plugins(), *ranks};
    const Case selected =
        fixture::one_case(svm_benchmark(),
                          {{"problem", "n" + std::to_string(rows) + "d" + std::to_string(features)},
                           {"precision", std::string(format(precision).name)},
                           {"backend", "reference"}},
                          1);
    const auto& typed = typed_settings<AnalyticsSettings>(selected);
    StepMaker steps(context, typed.options());
    const AnalysisCase from{typed, rows, features, all.range, precision, *ranks, steps, 1};
    auto objective = spoil ? spoilt(from, spoil) : SvmObjective::make(from, 1, true);
    SvmObjective& made = *std::get<std::unique_ptr<SvmObjective>>(objective);
    load_rows(*table, all.range, made.device(), made.x(), &made.y(), 1, *ranks);
    solution.w.resize(static_cast<std::size_t>(features) + 1);
    SvmNewton newton(solution.w.size());
    newton.start(solution);
    newton.run(made, settings, solution);
    solution.passes = made.passes();
    solution.hessian = made.last_hessian(solution, 1);
  }

  SvmCheck verify(const SvmSolution& claimed) {
    RankCalls calls(*ranks);
    return verify_svm(claimed, claims, *table, all, calls);
  }
};

TEST(SvmNewton, KeepsTheBestWhereRoundingPreventsTheGap) {
  Solved narrow(2000, 30, Precision::fp32, 1e-8), wide(50, 60, Precision::fp64, 1e-12);
  for (const Solved* found : {&narrow, &wide}) {
    EXPECT_GT(found->solution.gap, found->settings.gap) << "rounding prevents nothing";
    EXPECT_LT(found->solution.gap, 1e-4) << "the gap grew again";
    EXPECT_LT(found->solution.evaluations, found->settings.evaluations);
  }
  EXPECT_LT(narrow.verify(narrow.solution).gap, 1e-3);
  const std::string reason = wide.verify(wide.solution).verification.reason;
  EXPECT_NE(reason.find("rounding kept"), std::string::npos) << reason;
}

TEST(SvmVerification, FindsWhatIsWrong) {
  Solved right(4000, 5, Precision::fp64, 1e-6);
  const SvmCheck good = right.verify(right.solution);
  EXPECT_TRUE(good.verification.passed) << good.verification.reason;
  EXPECT_LE(good.gap, 1e-6);
  EXPECT_GE(good.gap, 0);
  const auto finds = [&](const char* relation, const std::function<void(SvmSolution&)>& tamper) {
    SvmSolution wrong = right.solution;
    tamper(wrong);
    const SvmCheck checked = right.verify(wrong);
    EXPECT_FALSE(checked.verification.passed) << relation;
    EXPECT_TRUE(checked.verification.reason.starts_with(relation))
        << relation << ": " << checked.verification.reason;
  };
  finds("objective", [](SvmSolution& s) { s.objective *= 1 - 1e-9; });
  finds("objective", [](SvmSolution& s) { s.w[2] += 0.01; });
  finds("objective", [](SvmSolution& s) { s.w[5] = NAN; });
  // A solution that is not optimal, with its own right objective.
  SvmSolution early = right.solution;
  for (double& w : early.w) w *= 0.99;
  early.objective = right.verify(early).objective;
  const SvmCheck checked = right.verify(early);
  EXPECT_FALSE(checked.verification.passed);
  EXPECT_TRUE(checked.verification.reason.starts_with("duality gap"))
      << checked.verification.reason;
}

/// Such a run may well tell that it has not reached the gap.
TEST(SvmVerification, OnlyARightKernelMayMissTheGap) {
  const auto scaled = [](const char* of, std::size_t first, double by) -> Spoil {
    return [=](const std::string& name, std::span<double> sums) {
      if (name != of) return;
      for (double& sum : sums.subspan(first)) sum *= by;
    };
  };
  for (const int evaluations : {4, 40, 2000}) {
    for (const Spoil& spoil :
         {scaled("direction", 0, 0), scaled("direction", 0, 0.5), scaled("direction", 5, 0),
          scaled("losses", 1, 0.5), scaled("losses", 2, 0.5)}) {
      Solved broken(4000, 5, Precision::fp64, 1e-6, spoil, evaluations);
      const Verification found = broken.verify(broken.solution).verification;
      EXPECT_FALSE(found.passed || found.undecided) << found.reason;
    }
  }
  for (const Precision precision : {Precision::fp64, Precision::fp32}) {
    Solved right(4000, 5, precision, precision == Precision::fp64 ? 1e-15 : 1e-9);
    const Verification found = right.verify(right.solution).verification;
    EXPECT_TRUE(found.passed || found.undecided) << found.reason;
  }
  Solved early(4000, 5, Precision::fp64, 1e-6, {}, 4);
  EXPECT_TRUE(early.verify(early.solution).verification.undecided);
}

TEST(SvmVerification, AWrongHessianMatrixIsIncorrect) {
  constexpr std::size_t width = 6;
  using Matrix = std::span<double>;
  const std::vector<std::function<void(Matrix)>> faults{
      [](Matrix h) { std::fill(h.begin(), h.end(), 0); },
      [](Matrix h) {
        for (double& element : h) element *= 0.999;
      },
      [](Matrix h) { h[0] *= 1 + 1e-4; },
      [](Matrix h) { h[4 * width + 1] = -h[4 * width + 1]; },
      [](Matrix h) { h[5 * width + 5] += 1; },  // a row too many
      [](Matrix h) { h[2 * width] = NAN; },
      [](Matrix h) {  // of no columns but its own
        for (std::size_t i = 0; i < h.size(); ++i) h[i] *= i % (width + 1) == 0 ? 1 : 0;
      }};
  for (const auto& fault : faults)
    for (const int evaluations : {6, 40, 20000}) {
      Solved broken(
          4000, 5, Precision::fp64, 1e-9,
          [&](const std::string& name, std::span<double> sums) {
            if (name == "h") fault(sums);
          },
          evaluations);
      const Verification found = broken.verify(broken.solution).verification;
      EXPECT_FALSE(found.passed || found.undecided) << &fault - faults.data() << found.reason;
      EXPECT_TRUE(found.reason.starts_with("Hessian matrix"))
          << &fault - faults.data() << ": " << found.reason;
    }
  for (const Precision precision : {Precision::fp64, Precision::fp32})
    for (const std::int64_t features : {1, 5, 40})
      for (const double gap : {1e-2, 1e-5, 1e-15}) {
        Solved right(3000, features, precision, gap);
        const Verification found = right.verify(right.solution).verification;
        EXPECT_TRUE(found.passed || found.undecided) << found.reason;
      }
}

TEST(SvmVerification, TakesItsTermsFromTheCase) {
  const auto finds = [&](const char* relation, const std::function<void(Solved&)>& tamper) {
    Solved found(4000, 5, Precision::fp64, 1e-4);
    ASSERT_EQ(found.verify(found.solution).verification.reason, "");
    tamper(found);
    const std::string reason = found.verify(found.solution).verification.reason;
    EXPECT_TRUE(reason.starts_with(relation)) << relation << ": " << reason;
  };
  finds("objective", [](Solved& s) { s.claims.cost = 2; });
  finds("duality gap", [](Solved& s) { s.claims.gap = 1e-7; });
  finds("rows", [](Solved& s) { s.claims.rows = 8000; });
  finds("evaluations", [](Solved& s) { s.solution.passes *= 2; });
  finds("evaluations", [](Solved& s) { s.claims.evaluations = s.solution.evaluations - 4; });
  finds("start", [](Solved& s) { s.solution.start *= 0.5; });
  finds("operations", [](Solved& s) {
    s.solution.flops = 4.0 * 6 * s.solution.evaluated_rows;
    s.solution.operations = 2 * s.solution.flops;
  });
  // Nelder-Mead before its last evaluation, with a simplex that is flat, and with one that is not.
  const auto reason_of = [](double scale, int more_evaluations) {
    Solved found(4000, 5, Precision::fp64, 1e-4);
    found.claims.nelder_mead = true;
    found.claims.evaluations = found.solution.evaluations + more_evaluations;
    found.solution.vertex = found.solution.w;
    for (double& w : found.solution.vertex) w *= scale;
    return found.verify(found.solution).verification.reason;
  };
  EXPECT_EQ(reason_of(1, 10), "");
  EXPECT_EQ(reason_of(1.5, 0), "") << "all evaluations are made";
  EXPECT_TRUE(reason_of(1.5, 10).starts_with("stop")) << reason_of(1.5, 10);
}

TEST(SvmVerification, OnlyARiseIsAnErrorOfNelderMead) {
  Solved right(4000, 5, Precision::fp64, 1e-6);
  right.claims.nelder_mead = true;
  right.claims.evaluations = right.solution.evaluations;
  const SvmCheck good = right.verify(right.solution);
  EXPECT_TRUE(good.verification.passed) << good.verification.reason;
  EXPECT_LE(good.verification.max_error, 1e-12) << "how far P fell is no error";
  for (const double factor : {100.0, std::nan("")}) {
    SvmSolution risen = right.solution;
    for (double& w : risen.w) w *= -factor;
    risen.objective = right.verify(risen).objective;
    const SvmCheck checked = right.verify(risen);
    EXPECT_FALSE(checked.verification.passed);
    if (!std::isnan(factor)) {
      EXPECT_TRUE(checked.verification.reason.starts_with("descent"))
          << checked.verification.reason;
    }
  }
}

TEST(Svm, ErrorsOfEqualRowsOnTheMarginAddUp) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 20000; ++i) text += "1,2,0\n3,4,1\n";
  const Folder folder;
  const std::string file = folder.write("rows.csv", text);
  for (const char* gap : {"0.001", "1e-06"})
    for (const int ranks : {1, 3}) {
      const auto found = metrics_on_ranks(svm_benchmark(), {{"data", file}, {"gap", gap}}, ranks);
      EXPECT_EQ(found.at("accuracy").value, 1);
    }
}

TEST(Svm, LabelsAreOfTwoClasses) {
  const Folder folder;
  const auto read = [&](const std::string& text) {
    const std::unique_ptr<DataTable> table =
        sign_labels(open_table(folder.write("rows.csv", "a,label\n" + text)));
    std::vector<double> x(static_cast<std::size_t>(table->rows())), labels(x.size());
    table->read(0, x, labels);
    return labels;
  };
  EXPECT_EQ(read("1,0\n2,1\n3,0\n"), (std::vector<double>{-1, 1, -1}));
  EXPECT_EQ(read("1,-1\n2,1\n"), (std::vector<double>{-1, 1}));
  try {
    read("1,0\n2,2\n");
    FAIL() << "a third class";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("row 2"), std::string::npos) << error.what();
  }
}

/// Expects that each of 1 to 3 ranks is refused this table, for the same reason.
void expect_refused(const std::string& file, const std::string& reason) {
  (void)fixture::plugins().open("native");
  for (const int ranks : {1, 2, 3}) {
    const Case selected = fixture::one_case(svm_benchmark(), {{"data", file}}, ranks);
    std::vector<std::string> said(static_cast<std::size_t>(ranks));
    testing_fakes::on_threads(ranks, [&](Communicator& communicator) {
      CaseContext context{fixture::plugins(), communicator};
      try {
        (void)svm_benchmark().prepare(selected, context);
      } catch (const InputError& error) {
        said[static_cast<std::size_t>(communicator.rank())] = error.what();
      }
    });
    for (const std::string& text : said) EXPECT_NE(text.find(reason), text.npos) << text;
  }
}

TEST(Svm, BothLabelsOfANegativeClassAreThreeClasses) {
  const Folder folder;
  // One of three ranks has 0, another -1.
  expect_refused(folder.write("rows.csv", "a,label\n1,1\n2,1\n3,1\n4,0\n5,0\n6,-1\n7,1\n"),
                 "the label of row 4 is 0, and that of row 6 is -1");
}

TEST(Svm, OneClassIsRefused) {
  const Folder folder;
  for (const std::string label : {"0", "1", "-1"}) {
    std::string text = "a,label\n";
    for (int i = 0; i < 5; ++i) text += std::to_string(i) + "," + label + "\n";
    expect_refused(folder.write("rows" + label + ".csv", text), "all labels are " + label + " ");
  }
}

}  // namespace test_svm
}  // namespace assay
