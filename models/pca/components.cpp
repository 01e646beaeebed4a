#include <algorithm>
#include <cmath>
#include <limits>

#include "models/pca/pca.hpp"

namespace assay {

Components::Components(std::int64_t features)
    : mean(static_cast<std::size_t>(features)),
      variances(mean.size()),
      directions(mean.size() * mean.size()) {
  poison();
}

void Components::poison() {
  for (std::vector<double>* values : {&mean, &variances, &directions})
    std::fill(values->begin(), values->end(), std::numeric_limits<double>::quiet_NaN());
}

void set_ascending(Components& components, const std::vector<double>& variances,
                   const std::vector<double>& columns) {
  const std::size_t d = variances.size();
  for (std::size_t j = 0; j < d; ++j) {
    const std::size_t column = d - 1 - j;
    double largest = 0;
    for (std::size_t i = 0; i < d; ++i)
      if (std::abs(columns[i * d + column]) > std::abs(largest)) largest = columns[i * d + column];
    const double sign = largest < 0 ? -1 : 1;
    components.variances[j] = variances[column];
    for (std::size_t i = 0; i < d; ++i)
      components.directions[j * d + i] = sign * columns[i * d + column];
  }
}

std::map<std::string, Metric> make_metrics(const Components& components, double error,
                                           const Resolution& resolution) {
  const std::vector<double>& variances = components.variances;
  const double least = variances.front() * (resolution.of_roots ? error * error : error);
  const auto lost = std::count_if(variances.begin(), variances.end(),
                                  [&](double variance) { return !(variance > least); });
  return {{"first_sd", {std::sqrt(variances.front()), "", ""}},
          {"last_sd", {std::sqrt(std::max(0.0, variances.back())), "", ""}},
          {"unresolved", {static_cast<double>(lost), "", "lower"}}};
}

Shift::Shift(Device& device, Tensor& x, RowRange mine)
    : device_(device),
      x_(x),
      rows_(std::min<std::int64_t>(mine.count, 256)),
      values_(static_cast<std::size_t>(x.spec().dims.at(1))) {
  decoded_.resize(static_cast<std::size_t>(rows_) * values_.size());
  stored_.resize(decoded_.size() * size_of(x.spec().type));
}

const std::vector<double>& Shift::find(RankCalls& ranks) {
  if (ranks.rank() == 0) {
    device_.copy(stored_.data(), x_.data(), stored_.size());
    device_.stream().wait();
    decode(x_.spec().type, stored_.data(), decoded_);
    std::fill(values_.begin(), values_.end(), 0);
    for (std::size_t i = 0; i < decoded_.size(); ++i)
      values_[i % values_.size()] += decoded_[i] / static_cast<double>(rows_);
    // Rounded to the table's type, because the subtraction is in this type.
    for (double& value : values_) value = round_to(x_.spec().type, value);
  }
  ranks.broadcast(values_);
  return values_;
}

}  // namespace assay
