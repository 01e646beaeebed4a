#include "models/network/loss_band.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/paths.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr double deviations = 6;

bool matches(const json& settings, const json& free, const Settings& chosen,
             const std::vector<Dimension>& dimensions) {
  return std::all_of(dimensions.begin(), dimensions.end(), [&](const Dimension& axis) {
    if (!axis.field.empty() || std::count(free.begin(), free.end(), axis.name) > 0) return true;
    const std::string& value = chosen.at(axis.name);
    if (settings.contains(axis.name)) return settings.at(axis.name) == value;
    return !axis.defaults.empty() && value == axis.defaults.front();
  });
}

/// The bands of the losses of each epoch, in `trainings` (one list of losses each).
std::vector<std::pair<double, double>> read_bands(const json& trainings) {
  std::vector<std::pair<double, double>> bands;
  for (std::size_t epoch = 0; epoch < trainings.front().size(); ++epoch) {
    std::vector<double> losses;
    for (const json& training : trainings) losses.push_back(training.at(epoch));
    bands.push_back(compute_band(losses));
  }
  return bands;
}

std::string outside(const LossBand& band, const std::pair<double, double>& range, double loss,
                    const char* what, std::int64_t epoch) {
  if (loss >= range.first && loss <= range.second) return "";
  return fmt::format(
      "the loss of {} is {:.4g} after epoch {}, outside {:.4g} to {:.4g}, the band of {} ({} "
      "seeds)",
      what, loss, epoch, range.first, range.second, band.name, band.seeds);
}

}  // namespace

std::optional<LossBand> compute_loss_band(const Settings& settings,
                                          const std::vector<Dimension>& dimensions) {
  const std::filesystem::path folder = data_folder("results-schema") / "loss-bands";
  for (const std::string& name : list_json_names(folder)) {
    const json file = read_checked(folder / (name + ".json"), "loss-bands");
    for (const json& band : file.at("bands")) {
      json all = file.at("settings");
      all.update(band.at("settings"));
      if (!matches(all, file.at("free"), settings, dimensions)) continue;
      return LossBand{name + " " + band.at("name").get<std::string>(), band.at("seeds").size(),
                      read_bands(band.at("training_loss")), read_bands(band.at("validation_loss"))};
    }
  }
  return std::nullopt;
}

std::pair<double, double> compute_band(const std::vector<double>& losses) {
  const auto n = static_cast<double>(losses.size());
  double mean = 0, squares = 0;
  for (const double loss : losses) mean += std::log(loss) / n;
  for (const double loss : losses) squares += std::pow(std::log(loss) - mean, 2);
  const double half = deviations * std::sqrt(squares / (n - 1) * (1 + 1 / n));
  return {std::exp(mean - half), std::exp(mean + half)};
}

std::string outside(const LossBand& band, const std::vector<EpochResult>& epochs) {
  std::int64_t next = epochs.empty() ? 0 : epochs.front().epoch;
  for (const EpochResult& result : epochs) {
    const auto at = static_cast<std::size_t>(result.epoch - 1);
    if (result.epoch != next++ || result.epoch < 1 || at >= band.training.size())
      return fmt::format("epoch {} is none of the {} epochs of the band of {}, or not the next one",
                         result.epoch, band.training.size(), band.name);
    std::string why;
    if (result.has_steps())
      why = outside(band, band.training[at], result.training_loss, "training", result.epoch);
    if (why.empty() && result.evaluation)
      why = outside(band, band.validation[at], result.evaluation->loss, "validation", result.epoch);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace assay
