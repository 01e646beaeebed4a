#include "core/api/checksum_weights.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay {
namespace {

constexpr std::int64_t longest_run = 65536;
constexpr std::uint64_t largest = 8;

double draw_factor(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const double magnitude = static_cast<double>(1 + bits % largest);
  return (bits >> 63) != 0 ? -magnitude : magnitude;
}

}  // namespace

ChecksumWeights::ChecksumWeights(std::span<const std::int64_t> dims, std::uint64_t seed)
    : dims_(dims.begin(), dims.end()), outer_(dims.size()), inner_{1} {
  std::mt19937_64 random(seed);
  for (const std::int64_t extent : dims_) {
    Factors factors;
    for (std::int64_t i = 0; i < std::min(extent, block); ++i)
      factors.within.push_back(draw_factor(random));
    for (std::int64_t i = 0; i < (extent + block - 1) / block; ++i)
      factors.of_block.push_back((random() >> 63) != 0 ? -1 : 1);
    factors_.push_back(std::move(factors));
  }
  while (outer_ > 0 &&
         dims_[outer_ - 1] * static_cast<std::int64_t>(inner_.size()) <= longest_run) {
    --outer_;
    std::vector<double> longer;
    for (const double outer : factors(outer_))
      for (const double inner : inner_) longer.push_back(outer * inner);
    inner_ = std::move(longer);
  }
}

std::vector<double> ChecksumWeights::factors(std::size_t dim) const {
  std::vector<double> all(static_cast<std::size_t>(dims_[dim]));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = factor(dim, static_cast<std::int64_t>(i));
  return all;
}

void ChecksumWeights::fill(std::int64_t first, std::span<double> out) const {
  // If the innermost dimension is too long for `inner_`, a run is a part of one of its blocks.
  const bool long_rows = outer_ == dims_.size() && !dims_.empty();
  const std::span<const double> run = long_rows ? factors_.back().within : inner_;
  const std::int64_t period = long_rows ? dims_.back() : static_cast<std::int64_t>(run.size());
  std::size_t done = 0;
  while (done < out.size()) {
    const std::int64_t at = first + static_cast<std::int64_t>(done), in_row = at % period;
    double outer = 1;
    std::int64_t row = at / period;
    for (std::size_t dim = long_rows ? dims_.size() - 1 : outer_; dim-- > 0; row /= dims_[dim])
      outer *= factor(dim, row % dims_[dim]);
    if (long_rows) outer *= factors_.back().of_block[static_cast<std::size_t>(in_row / block)];
    const auto from = static_cast<std::size_t>(long_rows ? in_row % block : in_row);
    const std::size_t left = std::min(run.size() - from, static_cast<std::size_t>(period - in_row));
    const std::size_t count = std::min(left, out.size() - done);
    for (std::size_t i = 0; i < count; ++i) out[done + i] = outer * run[from + i];
    done += count;
  }
}

double ChecksumWeights::mean_square() const {
  constexpr double n = static_cast<double>(largest);
  return std::pow((n + 1) * (2 * n + 1) / 6, static_cast<double>(dims_.size()));
}

}  // namespace assay
