#include "models/network/loss_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::uint64_t most_growth_steps = 1000000000;

double parse_scale(const std::string& flag, const std::string& text) {
  const auto scale = parse_number(text);
  if (!scale || !is_loss_scale(*scale))
    throw InputError(
        fmt::format("{}: the scale '{}' is not a power of two from {} to {} (others change the "
                    "rounding). Give one like {}.",
                    flag, text, least_loss_scale, most_loss_scale, LossScaleSettings{}.start));
  return *scale;
}

}  // namespace

bool is_loss_scale(double scale) {
  int exponent = 0;
  return scale >= least_loss_scale && scale <= most_loss_scale &&
         std::frexp(scale, &exponent) == 0.5;
}

LossScaleSettings parse_loss_scale(const std::string& flag, const std::string& text) {
  const std::vector<std::string> kinds = {"none", "fixed", "dynamic"};
  const std::vector<std::string> fields = split(text, ':');
  const auto expect = [&](std::size_t least, std::size_t most, const char* form) {
    if (fields.size() < least || fields.size() > most)
      throw InputError(fmt::format("{} '{}' has {} fields after its name. The form is {}.", flag,
                                   text, fields.size() - 1, form));
  };
  LossScaleSettings settings;
  if (fields[0] == "none") {
    expect(1, 1, "none");
    settings.start = 1;
  } else if (fields[0] == "fixed") {
    expect(2, 2, "fixed:1024");
    settings.kind = LossScaleSettings::Kind::fixed;
    settings.start = parse_scale(flag, fields[1]);
  } else if (fields[0] == "dynamic") {
    expect(1, 3, "dynamic, dynamic:65536 or dynamic:65536:2000");
    settings.kind = LossScaleSettings::Kind::dynamic;
    if (fields.size() > 1) settings.start = parse_scale(flag, fields[1]);
    if (fields.size() > 2)
      settings.growth_steps = static_cast<std::int64_t>(
          whole_number(flag + ": the number of steps", fields[2], 1, most_growth_steps));
  } else {
    throw InputError(
        fmt::format("{}: {}", flag, explain_unknown_name("loss scale", fields[0], kinds)));
  }
  return settings;
}

std::string to_text(const LossScaleSettings& settings) {
  if (settings.kind == LossScaleSettings::Kind::none) return "none";
  if (settings.kind == LossScaleSettings::Kind::fixed)
    return fmt::format("fixed:{}", settings.start);
  const LossScaleSettings usual;
  if (settings.growth_steps != usual.growth_steps)
    return fmt::format("dynamic:{}:{}", settings.start, settings.growth_steps);
  return settings.start == usual.start ? "dynamic" : fmt::format("dynamic:{}", settings.start);
}

std::string overflow_advice(const LossScaleSettings& settings) {
  if (settings.kind != LossScaleSettings::Kind::fixed || settings.start == least_loss_scale)
    return "";
  return fmt::format(
      "; gradients are not finite. --loss-scale {} may be too large: use a smaller one, or "
      "--loss-scale dynamic",
      to_text(settings));
}

LossScale::LossScale(const LossScaleSettings& settings) : settings_(settings) {
  state_.scale = settings.kind == LossScaleSettings::Kind::none ? 1 : settings.start;
}

bool LossScale::update(bool finite, double made_with) {
  const bool dynamic = settings_.kind == LossScaleSettings::Kind::dynamic;
  ++state_.steps;
  if (!finite) {
    ++state_.skipped;
    ++state_.skipped_in_row;
    state_.good_steps = 0;
    diverged_ = diverged_ || made_with == least_loss_scale;
    if (dynamic) state_.scale = std::max(std::min(state_.scale, made_with / 2), least_loss_scale);
  } else {
    state_.skipped_in_row = 0;
    if (state_.good_steps + 1 < settings_.growth_steps) {
      ++state_.good_steps;
    } else if (grows_) {
      state_.good_steps = 0;
      if (dynamic) state_.scale = std::min(2 * state_.scale, most_loss_scale);
    }
  }
  return finite;
}

void LossScale::restore(const LossScaleState& state) {
  const bool dynamic = settings_.kind == LossScaleSettings::Kind::dynamic;
  if (!(dynamic ? is_loss_scale(state.scale) : state.scale == LossScale(settings_).scale()) ||
      state.good_steps < 0 || state.good_steps >= settings_.growth_steps || state.skipped < 0 ||
      state.skipped > state.steps || state.skipped_in_row < 0 ||
      state.skipped_in_row > state.skipped)
    throw InputError(fmt::format(
        "a loss scale of {} with {} good steps, and {} of {} steps skipped, {} in a row, is none "
        "of {}. Give the loss scale of the run that has written it.",
        state.scale, state.good_steps, state.skipped, state.steps, state.skipped_in_row,
        to_text(settings_)));
  state_ = state;
  diverged_ = false;
}

}  // namespace assay
