#include "models/kmeans/benchmark.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "models/kmeans/kmeans.hpp"

namespace assay {
namespace {

constexpr std::uint64_t most_clusters = 1 << 16, most_iterations = 100000;

KmeansSettings settings_of(const Settings& settings, std::uint64_t seed) {
  KmeansSettings of;
  of.clusters = std::stoll(settings.at("clusters"));
  of.plus_plus = settings.at("start") == "kmeans++";
  of.iterations = std::stoi(settings.at("iterations"));
  if (settings.at("tolerance") != "none") of.tolerance = std::stod(settings.at("tolerance"));
  of.seed = seed;
  return of;
}

Dimension axis(const char* name, const char* help, std::vector<std::string> values,
               const char* otherwise) {
  Dimension made;
  made.name = name;
  made.help = help;
  made.values = std::move(values);
  made.defaults = {otherwise};
  return made;
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
    Dimension clusters = axis("clusters", "number of centroids", {}, "3");
    clusters.prefix = "k";
    Dimension start =
        axis("start", "starting centroids: random rows, or kmeans++ (far from each other)",
             {"random", "kmeans++"}, "random");
    start.omit = "random";
    Dimension iterations = axis("iterations", "iterations at most", {}, "10");
    iterations.prefix = "i";
    Dimension tolerance = axis("tolerance",
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
    return std::make_unique<ClusterTable>(size, std::stoll(settings.at("clusters")));
  }

  void complete_own(Settings& settings) const override {
    const std::uint64_t clusters =
        whole_number("--clusters", settings.at("clusters"), 1, most_clusters);
    const auto rows = static_cast<std::uint64_t>(parse_table(settings.at("problem")).rows);
    if (clusters > rows)
      throw InputError(fmt::format("--clusters: {} are more than the {} rows. Use fewer clusters.",
                                   clusters, rows));
    settings["clusters"] = std::to_string(clusters);
    settings["iterations"] =
        std::to_string(whole_number("--iterations", settings.at("iterations"), 1, most_iterations));
    std::string& tolerance = settings.at("tolerance");
    if (tolerance != "none")
      tolerance = fmt::format("{}", number_between("--tolerance", tolerance, 0, 1));
  }

  /// A tolerance decides during the run how many iterations there are.
  double passes(const Settings& settings) const override {
    return settings.at("tolerance") == "none" ? std::stod(settings.at("iterations")) : 0;
  }
  double work(const Settings& settings, double n, double d) const override {
    return passes(settings) * n * d * (2 * std::stod(settings.at("clusters")) + 1);
  }

  std::vector<LinalgKernel> part_kernels() const override { return {LinalgKernel::kmeans_assign}; }
  std::vector<AnalysisPart> parts(const Settings& settings, std::int64_t rows,
                                  std::int64_t features) const override {
    return {{assignment_of(rows, features, std::stoll(settings.at("clusters")),
                           precision(settings.at("precision")))}};
  }
  void complete_part(Settings& settings) const override {
    settings["start"] = "random";
    settings["iterations"] = "1";
    settings["tolerance"] = "none";
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
