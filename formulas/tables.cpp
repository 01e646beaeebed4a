// Analyses of a table of n rows and d features: K-means, principal components, support vector
// machines.
#include <fmt/format.h>

#include <cmath>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

struct Table {
  double n, d, size;
};

/// Checks the numbers that all analyses have. Nothing if the row is not a whole analysis.
std::optional<Table> check_table(const Claims& claims) {
  const Fields numbers = parse_fields(claims.text("/problem/descriptor"));
  const double element = element_bytes(claims.parameter("precision")).input;
  if (claims.find("/problem/size") == nullptr || !numbers.contains("n") || !numbers.contains("d") ||
      element == 0)
    return std::nullopt;
  const Table table{numbers.at("n"), numbers.at("d"), numbers.at("n") * numbers.at("d") * element};
  const std::string origin = "n x d elements of the descriptor";
  claims.expect("/problem/n", table.n, origin);
  claims.expect("/problem/d", table.d, origin);
  claims.expect("/problem/size", table.size, origin);
  claims.expect("/problem/amounts/input_bytes_per_s", table.size, origin);
  claims.expect("/problem/amounts/figure_of_merit", table.size, origin);
  const std::string conform = claims.parameter("conform");
  claims.require(conform != "none", "/problem/amounts/figure_of_merit", "none",
                 "it is defined for the prescribed case alone, /parameters/conform");
  return table;
}

void expect_passes(const Claims& claims, const Table& table, double passes,
                   const std::string& origin) {
  claims.expect("/problem/passes", passes, origin);
  claims.expect("/problem/bytes", passes * table.size, origin + ", tables read");
}

/// Checks an operation measured alone. It has the rows of the first rank, which has one row more if
/// the ranks do not divide the rows.
void check_part(const Claims& claims, const std::string& kernel) {
  const Fields whole = parse_fields(claims.parameter("problem"));
  const double ranks = claims.number("/parameters/ranks").value_or(1);
  if (kernel != "qr" && whole.contains("n") && whole.contains("d")) {  // qr is of a block of rows
    claims.expect("/problem/n", std::ceil(whole.at("n") / ranks), "rows of the first rank");
    claims.expect("/problem/d", whole.at("d"), "/parameters/problem");
  }
  claims.require(claims.parameter("part").empty() || claims.parameter("part") == kernel,
                 "/problem/kernel", claims.parameter("part"), "/parameters/part");
}

void check_kmeans(const Claims& claims) {
  const std::string kernel = claims.text("/problem/kernel"),
                    clusters = claims.parameter("clusters");
  if (!kernel.empty()) {
    check_part(claims, kernel);
    claims.expect("/problem/k", parse_number<double>(clusters).value_or(0), "/parameters/clusters");
    return;
  }
  const auto table = check_table(claims);
  const auto most = claims.number("/parameters/iterations"),
             moved_least = claims.number("/parameters/until_moved");
  if (!table || !most || clusters.empty()) return;
  const std::vector<std::string> runs = split(clusters, '+');
  double passes = 0, flops = 0;
  for (const std::string& k : runs) {
    const std::string suffix = runs.size() == 1 ? "" : "_k" + k,
                      place = "/metrics/iterations" + suffix + "/value";
    const auto moved = claims.number("/metrics/moved" + suffix + "/value");
    const double iterations = claims.number(place).value_or(moved_least ? 0 : *most);
    if (moved_least) {
      claims.require(iterations >= 1 && iterations <= *most, place, fmt::format("1 to {:g}", *most),
                     "/parameters/iterations");
      claims.require(
          iterations == *most || !moved || *moved <= *moved_least, place,
          fmt::format("{:g}, since centroids still moved by {:g}", *most, moved.value_or(0)),
          "/parameters/until_moved");
    } else {
      claims.expect(place, *most, "/parameters/iterations");
    }
    passes += iterations;
    // A multiply-add for each centroid, and an addition to one of them.
    flops += iterations * table->n * table->d * (2 * parse_number<double>(k).value_or(0) + 1);
  }
  const std::string origin = fmt::format("iterations with {} clusters", clusters);
  if (!moved_least) {
    claims.expect("/problem/flops", flops, origin);
    expect_passes(claims, *table, passes, origin);
  } else {
    claims.expect("/executed/algorithmic_flops", flops, origin);
    claims.expect("/executed/passes", passes, origin);
  }
}

void check_pca(const Claims& claims) {
  const std::string kernel = claims.text("/problem/kernel"),
                    algorithm = claims.parameter("algorithm");
  if (!kernel.empty()) return check_part(claims, kernel);
  const auto table = check_table(claims);
  if (!table) return;
  const double n = table->n, d = table->d;
  // gram: a multiply-add for half of all pairs of features; eigenvectors by the symmetric QR
  // algorithm (Golub and Van Loan, section 8.3).
  if (algorithm == "gram")
    claims.expect("/problem/flops", n * d * (d + 1) + 9 * d * d * d, "moments and eigenvectors");
  // tsqr: a triangle of the table with a column of ones (Householder), and singular vectors.
  const double w = d + 1;
  if (algorithm == "tsqr")
    claims.expect("/problem/flops", 2 * w * w * n - 2 * w * w * w / 3 + 12 * d * d * d,
                  "a triangular factor and singular values");
  expect_passes(claims, *table, 1, "one pass");
}

void check_svm(const Claims& claims) {
  if (const std::string kernel = claims.text("/problem/kernel"); !kernel.empty())
    return check_part(claims, kernel);
  const auto table = check_table(claims);
  if (!table) return;
  const bool newton = claims.parameter("algorithm") == "newton";
  const auto gap = claims.number("/parameters/gap"),
             reached = claims.number("/metrics/duality_gap/value");
  // Rounding of the objective, in sums over d features and n rows.
  const double unit = claims.parameter("precision") == "fp32" ? 0x1p-24 : 0x1p-53,
               rounding = 64 * std::sqrt(table->d) * unit + 32 * std::sqrt(table->n) * 0x1p-53;
  if (newton && gap && reached)
    claims.require(*reached <= *gap + rounding, "/metrics/duality_gap/value",
                   fmt::format("at most {:g}", *gap), "/parameters/gap");
  const auto evaluations = claims.number("/metrics/evaluations/value"),
             flops = claims.number("/executed/algorithmic_flops");
  if (!evaluations || (!newton && claims.parameter("algorithm") != "nelder_mead")) return;
  const std::string most = claims.parameter("evaluations");
  const double limit =
      most == "auto" ? (newton ? 20000 : 500) : parse_number<double>(most).value_or(INFINITY);
  // newton ends with evaluations at the w that it returns.
  claims.require(*evaluations <= limit + (newton ? 3 : 0), "/metrics/evaluations/value",
                 fmt::format("at most {:g}", limit), "/parameters/evaluations");
  claims.expect("/executed/passes", *evaluations, "/metrics/evaluations");
  const double least = *evaluations * table->n * (newton ? 4 : 2) * (table->d + 1);
  if (!newton)
    claims.expect("/executed/algorithmic_flops", least, "evaluations of all rows");
  else if (flops)
    claims.require(*flops >= least * (1 - 1e-9), "/executed/algorithmic_flops",
                   fmt::format("at least {:g}", least), "evaluations of all rows");
}

const BenchmarkFormula of_kmeans("kmeans", check_kmeans), of_pca("pca", check_pca),
    of_svm("svm", check_svm);

}  // namespace
}  // namespace assay::formula
