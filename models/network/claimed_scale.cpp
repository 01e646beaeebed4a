#include "models/network/claimed_scale.hpp"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

std::string describe_scale(const LossScaleState& state) {
  return fmt::format("{} ({} of {} steps skipped, {} in a row, {} good ones)", state.scale,
                     state.skipped, state.steps, state.skipped_in_row, state.good_steps);
}

}  // namespace

ClaimedScale::ClaimedScale(const std::string& text, bool lags)
    : moves_(text.starts_with("dynamic")), lags_(lags) {
  const std::size_t first = text.find(':'),
                    second = first == text.npos ? first : text.find(':', first + 1);
  if (moves_) start_ = 65536;
  if (first != text.npos) start_ = std::stod(text.substr(first + 1));
  if (second != text.npos) growth_ = std::stoll(text.substr(second + 1));
}

std::string ClaimedScale::begin(const LossScaleState& state, bool restarted) {
  state_ = state;
  waiting_ = 0;
  unknown_ = restarted && lags_;
  if (restarted || state == LossScaleState{start_, 0, 0, 0, 0}) return "";
  return fmt::format("the loss scale begins as {}, not {}", describe_scale(state), start_);
}

std::string ClaimedScale::step(const LossScaleState& state) {
  const double now = state_.scale, scale_of_update = lags_ ? waiting_ : now;
  waiting_ = now;
  skipped_ = state.skipped > state_.skipped;
  if (unknown_) {
    unknown_ = false;
    state_ = state;
    return "";
  }
  if (scale_of_update > 0) {  // else nothing was updated
    ++state_.steps;
    if (skipped_) {
      ++state_.skipped;
      ++state_.skipped_in_row;
      state_.good_steps = 0;
      if (moves_) state_.scale = std::fmax(std::fmin(now, scale_of_update * 0.5), 1);
    } else {
      state_.skipped_in_row = 0;
      if (++state_.good_steps == growth_) {
        state_.good_steps = 0;
        if (moves_) state_.scale = std::fmin(now + now, 16777216);
      }
    }
  }
  const LossScaleState expected = state_;
  state_ = state;  // a fault is reported once
  if (state == expected) return "";
  return fmt::format("the loss scale is {}, not {}", describe_scale(state),
                     describe_scale(expected));
}

std::string WatchedScale::see(const std::string& rule, std::int64_t step,
                              const LossScaleState& now) {
  std::string why;
  if (step_ >= 0 && step == step_ + 1) {
    ClaimedScale claimed(rule, false);
    claimed.begin(state_, true);
    why = claimed.step(now);
  }
  state_ = now;
  step_ = step;
  return why;
}

}  // namespace assay
