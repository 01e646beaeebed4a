#include "datasets/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_made_features = std::int64_t{1} << 20;
constexpr std::int64_t most_clusters = std::int64_t{1} << 12;  // all pairs are compared

/// Eight independent sums: the order of additions is the same with every compiler.
double dot(const double* x, const double* y, std::int64_t size) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= size; i += 8)
    for (std::int64_t lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  for (std::int64_t lane = 0; i + lane < size; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// y += a x
void add(double* y, double a, const double* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] += a * x[i];
}

/// y, reflected at the plane that is normal to the unit vector v.
void reflect(double* y, const double* v, std::int64_t size) {
  add(y, -2 * dot(v, y, size), v, size);
}

/// Row `row` of the stream, scaled to length 1.
std::vector<double> unit_vector(const SyntheticSize& size, std::int64_t row) {
  std::vector<double> v(static_cast<std::size_t>(size.features));
  Normals(size.seed, Purpose::directions).fill(row, 1, size.features, v.data());
  const double length = std::sqrt(dot(v.data(), v.data(), size.features));
  if (length == 0) v[0] = 1;
  for (double& value : v) value /= length == 0 ? 1 : length;
  return v;
}

}  // namespace

SyntheticTable::SyntheticTable(const std::string& kind, const SyntheticSize& size,
                               const std::string& parameters)
    : size_(size),
      canonical_(
          fmt::format("{}:n{}d{}{}seed{}", kind, size.rows, size.features, parameters, size.seed)) {
  if (size.rows < 1)
    throw InputError(
        fmt::format("a table of {} rows cannot be generated (it would be empty). Ask "
                    "for 1 or more.",
                    size.rows));
  if (size.features < 1 || size.features > most_made_features)
    throw InputError(
        fmt::format("a table of {} features cannot be generated (1 to {} can). Ask "
                    "for other features.",
                    size.features, most_made_features));
  if (size.rows > std::numeric_limits<std::int64_t>::max() / 8 / size.features)
    throw InputError(
        fmt::format("a table of {} rows and {} features is too large (more bytes in "
                    "fp64 than 64 bits count). Ask for fewer rows.",
                    size.rows, size.features));
}

void SyntheticTable::fill_normal(std::int64_t first, std::int64_t count, double* x) const {
  Normals(size_.seed, Purpose::values).fill(first, count, size_.features, x);
}

void NormalTable::read_rows(std::int64_t first, std::int64_t count, double* x, double*) const {
  fill_normal(first, count, x);
}

SpectrumTable::SpectrumTable(const SyntheticSize& size, double condition)
    : SyntheticTable("spectrum", size, fmt::format("cond{}", condition)),
      mean_(static_cast<std::size_t>(size.features)),
      inner_(unit_vector(size, 0)),
      outer_(unit_vector(size, 1)) {
  if (!(condition >= 1 && std::isfinite(condition)))
    throw InputError(
        fmt::format("a covariance cannot have the condition {} (the largest "
                    "eigenvalue over the smallest). Give a number of at least 1.",
                    condition));
  const auto d = static_cast<double>(size.features);
  for (std::int64_t j = 0; j < size.features; ++j) {
    const double part = size.features == 1 ? 0 : static_cast<double>(j) / (d - 1);
    sigma_.push_back(std::pow(condition, -part / 2));
    eigenvalues_.push_back(sigma_.back() * sigma_.back());
  }
  Normals(size.seed, Purpose::means).fill(0, 1, size.features, mean_.data());
}

std::vector<double> SpectrumTable::eigenvectors() const {
  const std::int64_t d = features();
  std::vector<double> h(static_cast<std::size_t>(d * d)), column(static_cast<std::size_t>(d));
  for (std::int64_t j = 0; j < d; ++j) {
    std::fill(column.begin(), column.end(), 0);
    column[static_cast<std::size_t>(j)] = 1;
    reflect(column.data(), inner_.data(), d);
    reflect(column.data(), outer_.data(), d);
    for (std::int64_t i = 0; i < d; ++i)
      h[static_cast<std::size_t>(i * d + j)] = column[static_cast<std::size_t>(i)];
  }
  return h;
}

void SpectrumTable::read_rows(std::int64_t first, std::int64_t count, double* x, double*) const {
  const std::int64_t d = features();
  fill_normal(first, count, x);
  for (std::int64_t i = 0; i < count; ++i) {
    double* const row = x + i * d;
    for (std::int64_t j = 0; j < d; ++j) row[j] *= sigma_[static_cast<std::size_t>(j)];
    reflect(row, inner_.data(), d);
    reflect(row, outer_.data(), d);
    add(row, 1, mean_.data(), d);
  }
}

void MixtureTable::read_rows(std::int64_t first, std::int64_t count, double* x,
                             double* labels) const {
  const std::int64_t d = features();
  fill_normal(first, count, x);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t centre =
        random_choice(seed(), Purpose::choices, first + i, std::ssize(labels_));
    add(x + i * d, 1, &centres_[static_cast<std::size_t>(centre * d)], d);
    if (labels != nullptr) labels[i] = labels_[static_cast<std::size_t>(centre)];
  }
}

ClusterTable::ClusterTable(const SyntheticSize& size, std::int64_t clusters, double separation)
    : MixtureTable("clusters", size, fmt::format("k{}sep{}", clusters, separation)) {
  if (clusters < 1 || clusters > most_clusters)
    throw InputError(
        fmt::format("a table of {} clusters cannot be generated (1 to {} can). Ask "
                    "for other clusters.",
                    clusters, most_clusters));
  if (!(separation >= 0 && std::isfinite(separation)))
    throw InputError(
        fmt::format("{} is not a distance of clusters (it is in standard "
                    "deviations). Give one like 10.",
                    separation));
  const std::int64_t d = size.features;
  centres_.resize(static_cast<std::size_t>(clusters * d));
  Normals(size.seed, Purpose::means).fill(0, clusters, d, centres_.data());
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> between(static_cast<std::size_t>(d));
  for (std::int64_t a = 0; a < clusters; ++a)
    for (std::int64_t b = 0; b < a; ++b) {
      std::copy_n(&centres_[static_cast<std::size_t>(a * d)], d, between.begin());
      add(between.data(), -1, &centres_[static_cast<std::size_t>(b * d)], d);
      least = std::min(least, dot(between.data(), between.data(), d));
    }
  const double scale = clusters == 1 ? 1 : separation / std::sqrt(least);
  for (double& value : centres_) value *= scale;
  labels_.resize(static_cast<std::size_t>(clusters));
  std::iota(labels_.begin(), labels_.end(), 0);
}

ClusterTable::ClusterTable(const SyntheticSize& size,
                           std::span<const double> centres_in_all_features)
    : MixtureTable("clusters-coral", size) {
  for (const double centre : centres_in_all_features) {
    centres_.insert(centres_.end(), static_cast<std::size_t>(size.features), centre);
    labels_.push_back(static_cast<double>(labels_.size()));
  }
}

std::unique_ptr<ClusterTable> ClusterTable::coral(const SyntheticSize& size) {
  return std::unique_ptr<ClusterTable>(new ClusterTable(size, std::vector<double>{0, 2, 10}));
}

ClassTable::ClassTable(const SyntheticSize& size, double bayes_error)
    : MixtureTable("classes", size, fmt::format("bayes{}", bayes_error)),
      bayes_error_(bayes_error) {
  if (!(bayes_error > 0 && bayes_error < 0.5))
    throw InputError(
        fmt::format("two classes of equal probability cannot have a Bayes error of "
                    "{} (below 0.5). Give one like 0.1.",
                    bayes_error));
  const double half =
      boost::math::quantile(boost::math::complement(boost::math::normal(), bayes_error));
  const std::vector<double> direction = unit_vector(size, 0);
  for (const double label : {-1.0, 1.0}) {
    labels_.push_back(label);
    for (const double value : direction) centres_.push_back(label * half * value);
  }
}

ClassTable::ClassTable(const SyntheticSize& size, Coral)
    : MixtureTable("classes-coral", size),
      bayes_error_(
          boost::math::cdf(boost::math::normal(), -std::sqrt(static_cast<double>(size.features)))) {
  labels_ = {-1, 1};
  centres_.resize(static_cast<std::size_t>(size.features), 0);
  centres_.resize(static_cast<std::size_t>(2 * size.features), 2);
}

std::unique_ptr<ClassTable> ClassTable::coral(const SyntheticSize& size) {
  return std::unique_ptr<ClassTable>(new ClassTable(size, Coral()));
}

}  // namespace assay
