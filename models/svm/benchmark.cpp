#include "models/svm/benchmark.hpp"

#include "core/program/settings_reader.hpp"
#include "models/svm/svm.hpp"

namespace assay {
namespace {

/// 500 is CORAL-2's number for its method. Newton's method reaches its gap within tens of
/// evaluations on a large table; on small tables more evaluations cost almost nothing.
constexpr int nelder_mead_evaluations = 500, newton_evaluations = 20000;

Dimension axis(const char* name, const char* help, const char* standard) {
  return make_dimension(name, help, {}, {standard}, "", standard);
}

class SvmBenchmark final : public AnalyticsBenchmark {
 public:
  std::string name() const override { return "svm"; }

  std::string description() const override {
    return "Linear support vector machine of a table, over ranks and threads. Several ranks: "
           "mpirun -n RANKS.";
  }

 protected:
  std::vector<Dimension> own_dimensions() const override {
    Dimension algorithm = dimension::algorithm({"newton", "nelder_mead"});
    algorithm.defaults = {"newton"};
    algorithm.help =
        "newton: Newton's method on a smoothed hinge, to a duality gap; nelder_mead: CORAL-2's "
        "method, which stops after its evaluations";
    return {
        std::move(algorithm), axis("cost", "C, the weight of the hinge loss", "1"),
        axis("gap", "duality gap, as a part of the objective, at which newton stops", "0.001"),
        axis("evaluations",
             "evaluations of the objective at most; auto: 500 for nelder_mead, 20000 for newton",
             "auto")};
  }

  std::vector<std::string> tables() const override { return {"classes", "coral2"}; }

  std::unique_ptr<DataTable> table(const std::string& name, const SyntheticSize& size,
                                   const AnalyticsSettings&) const override {
    if (name == "coral2") return ClassTable::coral(size);
    return std::make_unique<ClassTable>(size);
  }

  bool needs_labels() const override { return true; }
  bool is_centred() const override { return false; }  // the norm of w includes the intercept

  std::unique_ptr<DataTable> prepare_table(std::unique_ptr<DataTable> table) const override {
    return sign_labels(std::move(table));
  }

  void expect_good_labels(const DataTable& file, const RowPass& mine,
                          Communicator& ranks) const override {
    expect_two_classes(file, mine, ranks);
  }

  void complete_own(Settings& settings, AnalyticsSettings& read) const override {
    SettingsReader reader(settings);
    SvmSettings svm;
    svm.nelder_mead = read.algorithm == "nelder_mead";
    reader.positive("cost", svm.cost, "weight", 1e12);
    svm.evaluations = svm.nelder_mead ? nelder_mead_evaluations : newton_evaluations;
    if (!reader.is("evaluations", "auto")) reader.whole("evaluations", svm.evaluations, 1, 1000000);
    if (svm.nelder_mead)
      settings["gap"] = "none";
    else
      reader.number("gap", svm.gap, 1e-9, 1);
    read.method = svm;
  }

  // The number of passes is known only after a run.
  double passes(const AnalyticsSettings&) const override { return 0; }
  double work(const AnalyticsSettings&, double, double) const override { return 0; }

  std::vector<LinalgKernel> part_kernels() const override {
    return {LinalgKernel::hinge, LinalgKernel::hinge_hessian};
  }
  std::vector<AnalysisPart> parts(const AnalyticsSettings& settings, std::int64_t rows,
                                  std::int64_t features) const override {
    std::vector<AnalysisPart> parts{{make_hinge_problem(rows, features, settings.precision)}};
    if (settings.algorithm == "newton")
      parts.push_back({make_hessian_problem(rows, features, settings.precision)});
    return parts;
  }
  void complete_part(Settings& settings, AnalyticsSettings&) const override {
    settings["cost"] = "1";
    if (settings.at("gap") != "none") settings["gap"] = "0.001";
    settings["evaluations"] = "auto";
  }

  /// y and s of each row, and separate s for the first part of the rows; (d + 1) x (d + 1)
  /// matrices, for newton both of the whole table and of that part.
  AnalysisMemory memory(const AnalyticsSettings& settings, std::int64_t rows,
                        std::int64_t features) const override {
    const bool newton = settings.algorithm == "newton";
    const double element = static_cast<double>(size_of(storage(settings.precision)));
    const auto n = static_cast<double>(rows), width = static_cast<double>(features + 1);
    const double matrix = 8 * width * width;
    const int matrices = newton ? 2 * (1 + settings.sums_of_threads()) : 0;
    return {element * n * (newton ? 2.0625 : 2) + matrices * matrix,
            (newton ? 5 : 2) * matrix +
                bytes_of_pass(rows, features, (newton ? 4 : 1) * width + 10, settings.threads)};
  }

  Result<std::unique_ptr<Analysis>> make(const AnalysisCase& analysis) const override {
    return make_svm(analysis, std::any_cast<SvmSettings>(analysis.settings.method));
  }
};

}  // namespace

const Benchmark& svm_benchmark() {
  static const SvmBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
