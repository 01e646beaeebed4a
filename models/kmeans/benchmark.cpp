#include "models/kmeans/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "models/kmeans/kmeans.hpp"

namespace assay {
namespace {

constexpr std::uint64_t most_clusters = 1 << 16, most_iterations = 100000;

/// "2+3+4": numbers of centroids, each of which has a run; all are timed as one.
std::vector<std::int64_t> clusters_of(const std::string& text) {
  std::vector<std::int64_t> all;
  for (const std::string& number : split(text, '+'))
    all.push_back(static_cast<std::int64_t>(whole_number("--clusters", number, 1, most_clusters)));
  return all;
}

std::int64_t most_of(const std::vector<std::int64_t>& clusters) {
  return *std::max_element(clusters.begin(), clusters.end());
}

std::vector<KmeansSettings> settings_of(const Settings& settings, std::uint64_t seed) {
  KmeansSettings of;
  of.plus_plus = settings.at("start") == "kmeans++";
  of.iterations = std::stoi(settings.at("iterations"));
  if (settings.at("until_moved") != "none") of.tolerance = std::stod(settings.at("until_moved"));
  of.seed += seed - 1;  // the default, 1, starts as CORAL-2 does
  std::vector<KmeansSettings> all;
  for (const std::int64_t clusters : clusters_of(settings.at("clusters"))) {
    all.push_back(of);
    all.back().clusters = clusters;
  }
  return all;
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

  std::unique_ptr<Table> table(const std::string& name, const SyntheticSize& size,
                               const Settings& settings) const override {
    if (name == "coral2") return ClusterTable::coral(size);
    if (name == "normal") return std::make_unique<NormalTable>(size);
    return std::make_unique<ClusterTable>(size, most_of(clusters_of(settings.at("clusters"))));
  }

  void complete_own(Settings& settings) const override {
    const std::vector<std::int64_t> clusters = clusters_of(settings.at("clusters"));
    const std::int64_t rows = parse_table(settings.at("problem")).rows;
    if (most_of(clusters) > rows)
      throw InputError(fmt::format("--clusters: {} are more than the {} rows. Use fewer clusters.",
                                   most_of(clusters), rows));
    settings["clusters"] = fmt::format("{}", fmt::join(clusters, "+"));
    settings["iterations"] =
        std::to_string(whole_number("--iterations", settings.at("iterations"), 1, most_iterations));
    std::string& tolerance = settings.at("until_moved");
    if (tolerance != "none")
      tolerance = fmt::format("{}", number_between("--until-moved", tolerance, 0, 1));
  }

  /// A tolerance decides during the run how many iterations there are.
  double passes(const Settings& settings) const override {
    if (settings.at("until_moved") != "none") return 0;
    return std::stod(settings.at("iterations")) *
           static_cast<double>(clusters_of(settings.at("clusters")).size());
  }
  double work(const Settings& settings, double n, double d) const override {
    if (settings.at("until_moved") != "none") return 0;
    double each = 0;  // operations for an element in one iteration of every run
    for (const std::int64_t clusters : clusters_of(settings.at("clusters")))
      each += operations_of_element(static_cast<double>(clusters));
    return std::stod(settings.at("iterations")) * n * d * each;
  }

  std::vector<LinalgKernel> part_kernels() const override { return {LinalgKernel::kmeans_assign}; }
  std::vector<AnalysisPart> parts(const Settings& settings, std::int64_t rows,
                                  std::int64_t features) const override {
    return {{assignment_of(rows, features, std::stoll(settings.at("clusters")),
                           precision(settings.at("precision")))}};
  }
  void complete_part(Settings& settings) const override {
    if (clusters_of(settings.at("clusters")).size() > 1)
      throw InputError(fmt::format(
          "--part: one operation has one number of centroids (--clusters is {}). Give one.",
          settings.at("clusters")));
    settings["start"] = "random";
    settings["iterations"] = "1";
    settings["until_moved"] = "none";
  }

  /// The centroids of every iteration are kept, since any of them may be verified.
  AnalysisMemory memory(const Settings& settings, std::int64_t rows,
                        std::int64_t features) const override {
    const int threads = std::stoi(settings.at("threads"));
    const double element =
        static_cast<double>(size_of(storage(precision(settings.at("precision")))));
    const double n = static_cast<double>(rows), iterations = std::stod(settings.at("iterations"));
    AnalysisMemory need;
    double checked = 0;  // numbers of three iterations
    for (const std::int64_t clusters : clusters_of(settings.at("clusters"))) {
      const double k = static_cast<double>(clusters), all = k * static_cast<double>(features);
      // Centroids; sums and counts of all and of each thread; labels.
      need.device += element * all + 8 * (sums_of_threads(settings) + 1) * (all + k) + 4 * n;
      need.host += 8 * ((iterations + 1) * all + iterations * (k + 1) + 2 * all);
      checked += 3 * (all + 5 * k + 2 * static_cast<double>(features)) +
                 (settings.at("start") == "kmeans++" ? 3 * k : 0);
    }
    if (settings.at("start") == "kmeans++") need.host += 8 * n;  // each row's distance
    need.host += bytes_of_pass(rows, features, checked, threads);
    return need;
  }

  Result<std::unique_ptr<Analysis>> make(const AnalysisCase& from) const override {
    return make_kmeans(from, settings_of(from.settings, from.seed));
  }
};

}  // namespace

const AnalyticsBenchmark& kmeans_benchmark() {
  static const KmeansBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
