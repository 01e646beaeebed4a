#include "models/kmeans/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/settings_reader.hpp"
#include "models/kmeans/kmeans.hpp"

namespace assay {
namespace {

constexpr std::uint64_t most_clusters = 1 << 16, most_iterations = 100000;

/// "2+3+4": numbers of centroids. Each has a run; all runs are timed together.
std::vector<std::int64_t> parse_clusters(const std::string& text) {
  std::vector<std::int64_t> all;
  for (const std::string& number : split(text, '+'))
    all.push_back(static_cast<std::int64_t>(whole_number("--clusters", number, 1, most_clusters)));
  return all;
}

/// A run for each number of clusters.
using Runs = std::vector<KmeansSettings>;
const Runs& find_runs(const AnalyticsSettings& settings) {
  return std::any_cast<const Runs&>(settings.method);
}

std::int64_t find_most_clusters(const Runs& runs) {
  return std::max_element(runs.begin(), runs.end(),
                          [](const auto& a, const auto& b) { return a.clusters < b.clusters; })
      ->clusters;
}

Dimension axis(const char* name, const char* help, std::vector<std::string> values,
               const char* otherwise) {
  return make_dimension(name, help, std::move(values), {otherwise});
}

class KmeansBenchmark final : public AnalyticsBenchmark {
 public:
  std::string name() const override { return "kmeans"; }

  std::string description() const override {
    return "K-means of a table, over ranks and threads. Several ranks: mpirun -n RANKS.";
  }

 protected:
  std::vector<Dimension> own_dimensions() const override {
    Dimension algorithm = dimension::algorithm({"lloyd"});
    algorithm.defaults = {"lloyd"};
    algorithm.help = "lloyd: assign all rows, then move all centroids";
    Dimension clusters = axis(
        "clusters", "number of centroids; 2+3+4: runs with each number, timed as a whole", {}, "3");
    clusters.prefix = "k";
    Dimension start =
        axis("start", "starting centroids: random rows, or kmeans++ (far from each other)",
             {"random", "kmeans++"}, "random");
    start.omit = "random";
    Dimension iterations = axis("iterations", "iterations at most", {}, "10");
    iterations.prefix = "i";
    Dimension tolerance = axis("until_moved",
                               "stop when no centroid moves by more than this part of the rows' "
                               "root mean square distance; none: after all iterations",
                               {}, "none");
    tolerance.omit = "none";
    return {std::move(algorithm), std::move(clusters), std::move(start), std::move(iterations),
            std::move(tolerance)};
  }

  std::vector<std::string> tables() const override { return {"clusters", "coral2", "normal"}; }

  std::unique_ptr<DataTable> table(const std::string& name, const SyntheticSize& size,
                                   const AnalyticsSettings& settings) const override {
    if (name == "coral2") return ClusterTable::coral(size);
    if (name == "normal") return std::make_unique<NormalTable>(size);
    return std::make_unique<ClusterTable>(size, find_most_clusters(find_runs(settings)));
  }

  void complete_own(Settings& settings, AnalyticsSettings& read) const override {
    SettingsReader reader(settings);
    const std::vector<std::int64_t> clusters = parse_clusters(reader.text("clusters"));
    if (const auto most = *std::max_element(clusters.begin(), clusters.end()); most > read.rows)
      throw InputError(fmt::format("--clusters: {} are more than the {} rows. Use fewer clusters.",
                                   most, read.rows));
    settings["clusters"] = fmt::format("{}", fmt::join(clusters, "+"));
    KmeansSettings run;
    run.plus_plus = reader.is("start", "kmeans++");
    reader.whole("iterations", run.iterations, 1, most_iterations);
    if (!reader.is("until_moved", "none")) reader.number("until_moved", run.tolerance, 0, 1);
    Runs runs;
    for (const std::int64_t number : clusters) {
      run.clusters = number;
      runs.push_back(run);
    }
    read.method = runs;
  }

  /// With a tolerance, the run itself determines the number of iterations.
  double passes(const AnalyticsSettings& settings) const override {
    const Runs& runs = find_runs(settings);
    if (runs.front().tolerance >= 0) return 0;
    return static_cast<double>(runs.front().iterations) * static_cast<double>(runs.size());
  }
  double work(const AnalyticsSettings& settings, double n, double d) const override {
    const Runs& runs = find_runs(settings);
    if (runs.front().tolerance >= 0) return 0;
    double each = 0;  // operations for an element in one iteration of every run
    for (const KmeansSettings& run : runs)
      each += operations_of_element(static_cast<double>(run.clusters));
    return runs.front().iterations * n * d * each;
  }

  std::vector<LinalgKernel> part_kernels() const override { return {LinalgKernel::kmeans_assign}; }
  std::vector<AnalysisPart> parts(const AnalyticsSettings& settings, std::int64_t rows,
                                  std::int64_t features) const override {
    return {{make_assignment_problem(rows, features, find_runs(settings).front().clusters,
                                     settings.precision)}};
  }
  void complete_part(Settings& settings, AnalyticsSettings& read) const override {
    const Runs& runs = find_runs(read);
    if (runs.size() > 1)
      throw InputError(fmt::format(
          "--part: one operation has one number of centroids (--clusters is {}). Give one.",
          settings.at("clusters")));
    settings["start"] = "random";
    settings["iterations"] = "1";
    settings["until_moved"] = "none";
    KmeansSettings run;
    run.clusters = runs.front().clusters;
    run.iterations = 1;
    read.method = Runs{run};
  }

  /// The centroids of every iteration are kept, since any of them may be verified.
  AnalysisMemory memory(const AnalyticsSettings& settings, std::int64_t rows,
                        std::int64_t features) const override {
    const Runs& runs = find_runs(settings);
    const bool plus_plus = runs.front().plus_plus;
    const double element = static_cast<double>(size_of(storage(settings.precision)));
    const double n = static_cast<double>(rows), iterations = runs.front().iterations;
    AnalysisMemory need;
    double checked = 0;  // numbers of three iterations
    for (const KmeansSettings& run : runs) {
      const double k = static_cast<double>(run.clusters), all = k * static_cast<double>(features);
      // Centroids; sums and counts of all and of each thread; labels.
      need.device += element * all + 8 * (settings.sums_of_threads() + 1) * (all + k) + 4 * n;
      need.host += 8 * ((iterations + 1) * all + iterations * (k + 1) + 2 * all);
      checked += 3 * (all + 5 * k + 2 * static_cast<double>(features)) + (plus_plus ? 3 * k : 0);
    }
    if (plus_plus) need.host += 8 * n;  // each row's distance
    need.host += bytes_of_pass(rows, features, checked, settings.threads);
    return need;
  }

  Result<std::unique_ptr<Analysis>> make(const AnalysisCase& analysis) const override {
    Runs runs = find_runs(analysis.settings);
    // The default seed, 1, starts as CORAL-2 does.
    for (KmeansSettings& run : runs) run.seed += analysis.seed - 1;
    return make_kmeans(analysis, runs);
  }
};

}  // namespace

const Benchmark& kmeans_benchmark() {
  static const KmeansBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
