#include "models/network/claimed_rate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "core/base/error.hpp"

namespace assay {
namespace {

/// Rates are stated for this number of images in a step (P. Goyal et al., arXiv:1706.02677).
constexpr double stated_for_images = 256;
constexpr double pi = 3.14159265358979323846;

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

double number(const Settings& settings, const char* name) { return std::stod(settings.at(name)); }

/// The number of ranks, or groups of ranks, with their own samples.
double with_samples(const Settings& settings) {
  const double ranks = number(settings, "ranks");
  const auto way = settings.find("parallel");
  if (way == settings.end()) return ranks;
  const std::vector<std::string> parts = split_text(way->second, ':');
  if (parts.size() < 2) return ranks;
  if (parts[0] == "server") return ranks - std::stod(parts[1]);
  return parts[0] == "pipeline" || parts[0] == "split" ? ranks / std::stod(parts[1]) : ranks;
}

}  // namespace

ClaimedRate::ClaimedRate(const Settings& settings, std::int64_t steps_of_epoch)
    : peak_(number(settings, "rate")) {
  if (settings.at("scaling") == "linear")
    peak_ *= number(settings, "batch") * number(settings, "accumulate") * with_samples(settings) /
             stated_for_images;
  const auto epoch = static_cast<double>(steps_of_epoch);
  rising_ = number(settings, "warmup") * epoch;
  length_ = number(settings, "epochs") * epoch;
  const std::vector<std::string> parts = split_text(settings.at("schedule"), ':');
  const std::string kind = parts.empty() ? "" : parts[0];
  if (kind == "cosine") {
    form_ = Form::half_wave;
  } else if (kind == "step" && parts.size() == 3) {
    form_ = Form::stairs;
    factor_ = std::stod(parts[1]);
    for (const std::string& after : split_text(parts[2], '+'))
      stairs_.push_back(std::stod(after) * epoch);
  } else if (kind == "poly" && parts.size() >= 2) {
    form_ = Form::power;
    exponent_ = std::stod(parts[1]);
    if (parts.size() > 2) floor_ = std::stod(parts[2]);
  } else if (kind != "constant") {
    throw CaseError(
        fmt::format("the schedule '{}' says no learning rate", settings.at("schedule")));
  }
}

double ClaimedRate::at(std::int64_t step) const {
  const auto now = static_cast<double>(step);
  if (now < rising_) return peak_ / rising_ * (now + 1);
  const double left = std::fmax(length_ - now, 0) / (length_ - rising_);  // from 1 to 0
  switch (form_) {
    case Form::flat:
      return peak_;
    case Form::stairs: {
      double passed = 0;
      for (const double stair : stairs_) passed += now >= stair ? 1 : 0;
      return peak_ * std::pow(factor_, passed);
    }
    case Form::half_wave: {
      const double sine = std::sin(pi / 2 * left);  // (1 + cos x) / 2 = sin((pi - x) / 2)^2
      return peak_ * sine * sine;
    }
    case Form::power:
      return floor_ + (peak_ - floor_) * std::pow(left, exponent_);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

bool ClaimedRate::agrees(double rate, double claimed) {
  // Near the end of a cosine, 1 + cos x is a difference of numbers near 1: its error is absolute.
  return std::fabs(rate - claimed) <= 1e-13 + 1e-12 * std::fabs(claimed);
}

}  // namespace assay
