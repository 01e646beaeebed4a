#pragma once
// The learning rate as a function of the step.

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// How the rate falls after the warm-up.
struct Decay {
  enum class Kind { constant, step, cosine, polynomial };
  Kind kind = Kind::constant;
  double factor = 0.1;                   ///< step: of the rate, at each milestone
  std::vector<std::int64_t> milestones;  ///< step: epochs since the start of training, ascending
  double power = 2;                      ///< polynomial
  double end = 0;                        ///< polynomial: rate after the last step
  bool operator==(const Decay&) const = default;
};

/// "constant", "cosine", "step:FACTOR:EPOCH+EPOCH+…" ("step:0.1:30+60+80") or "poly:POWER[:END]"
/// ("poly:2:0.0001"), without commas, which separate the values of an option. `flag` ("--schedule")
/// is for the message. InputError.
Decay parse_decay(const std::string& flag, const std::string& text);
/// The text that parse_decay() reads as the same; the shortest.
std::string to_text(const Decay& decay);

/// The rate of a batch of `global_batch` images (of all ranks and accumulated steps) where
/// `base_rate` is that of 256: linear scaling (P. Goyal et al., "Accurate, Large Minibatch SGD:
/// Training ImageNet in 1 Hour", arXiv:1706.02677).
double scaled_rate(double base_rate, std::int64_t global_batch);

struct ScheduleSettings {
  double rate = 0.1;  ///< after the warm-up, scaled already
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;
  std::int64_t epoch_steps = 1;  ///< for milestones
  Decay decay;
};

/// With s = step (from 0), W = warmup_steps, T = total_steps, r = rate and
/// p = (s - W) / (T - W), at most 1:
///
///   s < W        r (s + 1) / W
///   constant     r
///   step         r factor^m, m = number of milestones with s >= milestone * epoch_steps
///   cosine       r (1 + cos(pi p)) / 2
///   polynomial   (r - end) (1 - p)^power + end
///
/// So step W - 1 and step W have the rate r, and step T (the one after the last) that of the end.
/// cos and pow are the C library's: a rate may differ in its last bit from one processor model to
/// another, so ranks should use the rate of one of them.
class Schedule {
 public:
  /// InputError: a rate, or an end of it, that is not positive or finite (0 is allowed for the
  /// end), an end above the rate, no step, a warm-up that leaves no step.
  explicit Schedule(const ScheduleSettings& settings);
  double rate(std::int64_t step) const;

 private:
  ScheduleSettings settings_;
};

}  // namespace assay
