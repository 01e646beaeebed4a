#pragma once
// Loss scaling: the loss is multiplied by a factor, so that 16-bit gradients do not underflow.

#include <cstdint>
#include <string>

namespace assay {

struct LossScaleSettings {
  enum class Kind { none, fixed, dynamic };
  Kind kind = Kind::none;
  double start = 65536;              ///< a power of two, so that it changes no rounding
  std::int64_t growth_steps = 2000;  ///< dynamic: finite steps in a row that double the scale
  bool operator==(const LossScaleSettings&) const = default;
};
/// Limits of a dynamic scale. If gradients are not finite at the scale 1, the scale is not the
/// reason.
constexpr double least_loss_scale = 1, most_loss_scale = 16777216;
/// True if a scale is a power of two within these limits.
bool is_loss_scale(double scale);

/// Parses "none", "fixed:SCALE" or "dynamic[:START[:STEPS]]". InputError, with a message that
/// begins with `flag` ("--loss-scale"), for other texts, and for scales that are not powers of two
/// from 1 to 2^24.
LossScaleSettings parse_loss_scale(const std::string& flag, const std::string& text);
/// The shortest text that parse_loss_scale() reads as these settings.
std::string to_text(const LossScaleSettings& settings);

/// The state that a checkpoint saves.
struct LossScaleState {
  double scale = 1;
  std::int64_t good_steps = 0;  ///< finite steps in a row since the last change of the scale
  std::int64_t steps = 0, skipped = 0;
  std::int64_t skipped_in_row = 0;  ///< up to and including the last step
  bool operator==(const LossScaleState&) const = default;
};

/// Advice to append if gradients are not finite: a fixed scale may be too large. "" for other
/// scales: the reason is then a backend's fault or a diverging training.
std::string overflow_advice(const LossScaleSettings& settings);

/// Dynamic loss scaling (P. Micikevicius et al., Mixed Precision Training, ICLR 2018, section 3.2)
/// with the rules of PyTorch's GradScaler: a step whose gradients are not all finite is skipped and
/// halves the scale; `growth_steps` finite steps in a row double it. A fixed scale also skips
/// steps.
class LossScale {
 public:
  explicit LossScale(const LossScaleSettings& settings);

  double scale() const { return state_.scale; }
  /// Call it for each step. `finite`: all gradients, computed with scale(), are finite on all
  /// ranks. Returns false if the step must be skipped.
  bool update(bool finite) { return update(finite, state_.scale); }
  /// The same for gradients that an earlier step computed with the scale `made_with`. If they are
  /// not finite, the scale becomes half of `made_with`, unless it is already smaller.
  bool update(bool finite, double made_with);
  /// True if finite steps may double a dynamic scale; initially true.
  void let_grow(bool grows) { grows_ = grows; }
  /// True if a step was skipped at the scale 1: the training has diverged.
  bool has_diverged() const { return diverged_; }
  /// True if most_skipped_in_row consecutive steps were skipped: later steps will also be skipped.
  /// (Half as many steps reduce any dynamic scale to 1, even with a lag, so this happens only with
  /// fixed scales.)
  bool stuck() const { return state_.skipped_in_row >= most_skipped_in_row; }
  static constexpr std::int64_t most_skipped_in_row = 100;

  std::int64_t steps() const { return state_.steps; }      ///< number of calls of update()
  std::int64_t skipped() const { return state_.skipped; }  ///< number of skipped steps

  const LossScaleState& state() const { return state_; }
  /// Continues from a state of the same settings. InputError if these settings cannot give it.
  void restore(const LossScaleState& state);

 private:
  LossScaleSettings settings_;
  LossScaleState state_;
  bool diverged_ = false, grows_ = true;
};

}  // namespace assay
