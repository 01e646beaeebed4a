#pragma once
// The factor of the loss that keeps 16-bit gradients above the smallest numbers of their type.

#include <cstdint>
#include <string>

namespace assay {

struct LossScaleSettings {
  enum class Kind { none, fixed, dynamic };
  Kind kind = Kind::none;
  double start = 65536;              ///< a power of two, so that it changes no rounding
  std::int64_t growth_steps = 2000;  ///< dynamic: good steps in a row before the scale is doubled
  bool operator==(const LossScaleSettings&) const = default;
};
/// A dynamic scale stays within these. At 1, elements that are not finite are no fault of the
/// scale.
constexpr double least_loss_scale = 1, most_loss_scale = 16777216;
/// Whether it is a power of two within these.
bool is_loss_scale(double scale);

/// "none", "fixed:SCALE" or "dynamic[:START[:STEPS]]". `flag` ("--loss-scale") is for the message.
/// InputError: another name; a scale that is no power of two from 1 to 2^24.
LossScaleSettings parse_loss_scale(const std::string& flag, const std::string& text);
/// The text that parse_loss_scale() reads as the same; the shortest.
std::string to_text(const LossScaleSettings& settings);

/// What a checkpoint keeps.
struct LossScaleState {
  double scale = 1;
  std::int64_t good_steps = 0;  ///< in a row, since the scale was last changed
  std::int64_t steps = 0, skipped = 0;
  std::int64_t skipped_in_row = 0;  ///< up to the last step
  bool operator==(const LossScaleState&) const = default;
};

/// Dynamic loss scaling (P. Micikevicius et al., "Mixed Precision Training", ICLR 2018, section
/// 3.2) with the rules of PyTorch's GradScaler: a step whose gradients are not all finite is
/// skipped and halves the scale, `growth_steps` good steps in a row double it. A fixed scale skips
/// such steps, too.
class LossScale {
 public:
  explicit LossScale(const LossScaleSettings& settings);

  double scale() const { return state_.scale; }
  /// Of a step with scale(): whether all elements of its gradients were finite (on all ranks).
  /// Returns whether the step counts: false where it is to be skipped.
  bool update(bool finite) { return update(finite, state_.scale); }
  /// The same of gradients that were made with another scale, one of the steps before: what was too
  /// large then halves that one, and leaves a scale that is smaller already as it is.
  bool update(bool finite, double made_with);
  /// Whether good steps may double a dynamic scale; at first they may.
  void let_grow(bool grows) { grows_ = grows; }
  /// Whether a step was skipped at the scale 1: the scale was not why, the training has diverged.
  bool diverged() const { return diverged_; }
  /// Whether so many steps in a row were skipped that none will count: a scale that does not fall.
  /// A dynamic one is at 1 after half as many, with a lag, too.
  bool stuck() const { return state_.skipped_in_row >= most_skipped_in_row; }
  static constexpr std::int64_t most_skipped_in_row = 100;

  std::int64_t steps() const { return state_.steps; }      ///< calls of update()
  std::int64_t skipped() const { return state_.skipped; }  ///< of them

  const LossScaleState& state() const { return state_; }
  /// Continues from a state of the same settings. InputError: numbers that no run of them has.
  void restore(const LossScaleState& state);

 private:
  LossScaleSettings settings_;
  LossScaleState state_;
  bool diverged_ = false, grows_ = true;
};

}  // namespace assay
