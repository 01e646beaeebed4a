#include "formulas/epochs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "formulas/quality.hpp"

namespace assay::formula {
namespace {

/// The quality of a network. A user's own network, whose name is not known here, has the one
/// quality that its row tells.
std::string find_expected_quality(const Claims& claims) {
  static const std::map<std::string, const char*> known{{"candle-p1b1", "correlation"},
                                                        {"candle-p1b2", "accuracy"},
                                                        {"deepcam", "iou"},
                                                        {"deeplab", "iou"},
                                                        {"mlp", "accuracy"},
                                                        {"resnet18", "accuracy"},
                                                        {"resnet50", "accuracy"},
                                                        {"tiramisu", "iou"}};
  const std::string text = claims.text("/problem/descriptor");
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return "accuracy";  // of assay-resnet50
  const auto entry = known.find(text.substr(0, colon));
  if (entry != known.end()) return entry->second;
  const nlohmann::json* const metrics = claims.find("/metrics");
  const std::string own = metrics == nullptr ? "" : find_quality(*metrics);
  return own.empty() ? "accuracy" : own;
}

/// The fields after the colon of "learnable:n60000v1000" or "generated:n256c10…".
Fields open_set(const std::string& data) {
  const std::size_t colon = data.find(':');
  const bool known = data.starts_with("learnable:") || data.starts_with("generated:");
  return known ? parse_fields(data.substr(colon + 1)) : Fields{};
}

class Epochs {
 public:
  Epochs(const Claims& claims, double images)
      : claims_(claims),
        quality_(find_expected_quality(claims)),
        set_(open_set(claims.parameter("data"))),
        most_(claims.number("/parameters/epochs").value_or(0)),
        target_(claims.number("/parameters/target").value_or(0)),
        images_(images),
        ranks_(claims.number("/parameters/ranks").value_or(1)),
        steps_(std::floor(value(set_, "n", 0) / images)),
        restarted_(claims.parameter("restart") == "yes"),
        prompt_(claims.parameter("data").starts_with("learnable")),
        knows_checks_(claims.parameter("loss_scale") == "none") {}

  void check() const {
    const nlohmann::json *const all = claims_.find("/epochs"), *const metrics =
                                                                   claims_.find("/metrics");
    for (const char* other : qualities) {
      if (other == quality_) continue;
      const std::string time = fmt::format("time_to_{}_s", other);
      for (const std::string& name : {std::string(other), time})
        claims_.require(metrics == nullptr || !metrics->contains(name), "/metrics/" + name,
                        fmt::format("no {} (this network has {})", other, quality_),
                        "/problem/descriptor");
    }
    reached();
    if (all == nullptr || all->empty()) return;
    claims_.require(most_ > 0, "/epochs", "none", "/parameters/epochs");
    for (std::size_t i = 0; i < all->size(); ++i) epoch(i, i + 1 == all->size());
  }

 private:
  std::string place(std::size_t i, const char* name) const {
    return fmt::format("/epochs/{}/{}", i, name);
  }
  std::optional<double> number(std::size_t i, const char* name) const {
    return claims_.number(place(i, name));
  }

  void reached() const {
    const std::string place = fmt::format("/metrics/{}/value", quality_);
    const auto score = claims_.number(place);
    if (!score) return;
    const bool good = *score >= target_, kept = claims_.parameter("unreached") == "kept";
    const bool timed = claims_.find(fmt::format("/metrics/time_to_{}_s", quality_)) != nullptr;
    claims_.require(good || (kept && !timed), place, fmt::format("at least {}", target_),
                    "/parameters/target");
    claims_.require(timed || !good || claims_.find("/epochs") == nullptr, place,
                    fmt::format("less than {} in a training without time to {}", target_, quality_),
                    "/parameters/target");
    claims_.require(claims_.number("/metrics/epochs/value").value_or(0) <= most_,
                    "/metrics/epochs/value", fmt::format("at most {:g}", most_),
                    "/parameters/epochs");
  }

  void epoch(std::size_t i, bool last) const {
    const double at = *number(i, "epoch"),
                 every = claims_.number("/parameters/validate_every").value_or(1);
    claims_.require(at <= most_, place(i, "epoch"), fmt::format("at most {:g}", most_),
                    "/parameters/epochs");
    if (i == 0 && !restarted_)
      claims_.expect(place(i, "epoch"), 1, "the training was not continued");
    const nlohmann::json& own = claims_.find("/epochs")->at(i);
    for (const char* other : qualities)
      claims_.require(other == quality_ || !own.contains(other), place(i, other),
                      fmt::format("no {} (this network has {})", other, quality_),
                      "/problem/descriptor");
    const auto score = number(i, quality_.c_str());
    claims_.require(last || score.value_or(-1) < target_, place(i, quality_.c_str()),
                    fmt::format("less than {}, since training went on", target_),
                    "/parameters/target");
    if (last && score.value_or(-1) < target_)
      claims_.expect(place(i, "epoch"), most_, "/parameters/epochs, without the target reached");
    if (const double v = value(set_, "v", 0); score && quality_ == "accuracy" && v > 0)
      claims_.require(std::fabs(*score * v - std::round(*score * v)) < 1e-6 * v,
                      place(i, "accuracy"), fmt::format("a multiple of 1/{:g}", v),
                      "the images of validation");
    if (!number(i, "training_loss")) return;  // continued after its last step
    const bool due = std::fmod(at, every) == 0 || at == most_;
    claims_.require(due == score.has_value(), place(i, "epoch"),
                    fmt::format("{} {}",
                                !due                        ? "no"
                                : quality_ == "correlation" ? "a"
                                                            : "an",
                                quality_),
                    "/parameters/validate_every");
    times(i);
  }

  /// `seconds` exclude checks and checkpoints; the time stamps include them. Checked steps are
  /// fewer than half of all steps, and count with the mean time of the other steps.
  void times(std::size_t i) const {
    const auto rate = number(i, "images_per_s"), begun = number(i, "started_unix_s"),
               trained = number(i, "trained_unix_s"), ended = number(i, "ended_unix_s");
    // The first epoch of a continued training began in another process.
    if (!rate || !(*rate > 0) || (i == 0 && restarted_)) return;
    const double step = images_ / *rate, training = steps_ * step,
                 spent = *number(i, "seconds") - (i == 0 ? 0 : *number(i - 1, "seconds"));
    claims_.require(training <= spent * (1 + 1e-6) + 1e-6, place(i, "seconds"),
                    fmt::format("{:g} more than before, or longer", training),
                    "the epoch's images over its images_per_s");
    if (!begun || !trained || !ended) return;
    claims_.require(*begun <= *trained && *trained <= *ended, place(i, "trained_unix_s"),
                    fmt::format("{:.6f} to {:.6f}", *begun, *ended),
                    "the beginning and the end of the epoch");
    // The time before the first epoch also contains the opening of files.
    const auto previous = i == 0 ? (prompt_ ? begun : std::nullopt) : number(i - 1, "ended_unix_s");
    if (!knows_checks_ || !previous) return;
    // The time between epochs counts, except for checkpoints. Outside of the stamps, ranks wait for
    // each other, and the first epoch waits until the input has started.
    const bool waits = ranks_ > 1 || i == 0;
    const double rest = *begun - *previous + (waits ? 1 : 0.02) + (waits ? 0.1 : 0.05) * spent;
    const auto in_stamps = [step](double seconds) { return 2 * seconds + step; };
    claims_.require(training <= in_stamps(*trained - *begun) + rest, place(i, "images_per_s"),
                    fmt::format("{:g} or more", images_ * steps_ / in_stamps(*trained - *begun)),
                    "the epoch's steps within its time stamps");
    claims_.require(spent <= in_stamps(*trained - *begun) + *ended - *trained + rest,
                    place(i, "seconds"),
                    fmt::format("at most {:g} more than before", *ended - *previous),
                    "the time stamps of the epoch");
    const double trained_s = spent - (*ended - *trained);
    if (steps_ > 0)
      claims_.require(trained_s <= training + rest, place(i, "images_per_s"),
                      fmt::format("at most {:g}", steps_ * images_ / trained_s),
                      "the epoch's seconds without its validation");
  }

  const Claims& claims_;
  std::string quality_;
  Fields set_;
  double most_, target_, images_, ranks_;
  double steps_;  ///< of an epoch; 0: unknown
  bool restarted_, prompt_;
  bool knows_checks_;  ///< false: a step that is skipped because of its gradients is checked again
};

}  // namespace

void check_epochs(const Claims& claims, double images) { Epochs(claims, images).check(); }

}  // namespace assay::formula
