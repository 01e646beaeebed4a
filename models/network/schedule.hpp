#pragma once
// The learning rate as a function of the step.

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// The learning rate after the warm-up.
struct Decay {
  enum class Kind { constant, step, cosine, polynomial };
  Kind kind = Kind::constant;
  double factor = 0.1;                   ///< step: factor of the rate at each milestone
  std::vector<std::int64_t> milestones;  ///< step: epochs since the start of training, ascending
  double power = 2;                      ///< polynomial
  double end = 0;                        ///< polynomial: rate after the last step
  bool operator==(const Decay&) const = default;
};

/// Parses "constant", "cosine", "step:FACTOR:EPOCH+EPOCH+…" ("step:0.1:30+60+80") or
/// "poly:POWER[:END]" ("poly:2:0.0001"). There are no commas, because they separate the values of a
/// flag. InputError, with a message that begins with `flag` ("--schedule"), for other texts.
Decay parse_decay(const std::string& flag, const std::string& text);
/// The shortest text that parse_decay() reads as the same.
std::string to_text(const Decay& decay);

/// base_rate * global_batch / 256: linear scaling from a batch of 256 images to `global_batch`
/// images of all ranks and accumulated batches (P. Goyal et al., Accurate, Large Minibatch SGD:
/// Training ImageNet in 1 Hour, arXiv:1706.02677).
double scale_rate(double base_rate, std::int64_t global_batch);

struct ScheduleSettings {
  double rate = 0.1;  ///< after the warm-up (scale_rate())
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  std::int64_t epoch_steps = 1;  ///< steps of an epoch, for milestones
  Decay decay;
};

/// The rate of each step. With s = step (from 0), W = warmup_steps, T = total_steps, r = rate and
/// p = min((s - W) / (T - W), 1) it is:
///
///   s < W        r (s + 1) / W
///   constant     r
///   step         r factor^m, m = number of milestones with s >= milestone * epoch_steps
///   cosine       r (1 + cos(pi p)) / 2
///   polynomial   (r - end) (1 - p)^power + end
///
/// So steps W - 1 and W have the rate r, and step T, after the last one, would have the final rate.
/// cos and pow are the C library's, and their last bit may depend on the processor, so all ranks
/// should use the rate that one rank computes.
class RateSchedule {
 public:
  /// InputError if the rate is not positive and finite, if the final rate is negative, not finite
  /// or above the rate, or if there are no steps after the warm-up.
  explicit RateSchedule(const ScheduleSettings& settings);
  double rate(std::int64_t step) const;

 private:
  ScheduleSettings settings_;
};

}  // namespace assay
