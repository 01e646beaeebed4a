#include "analysis/mllog/submission.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "formulas/quality.hpp"

namespace assay::mllog {

namespace {

constexpr double least_accuracy = 0.759, below_accuracy = 1;
constexpr std::int64_t training_images = 1281167, validation_images = 50000;  // ImageNet 2012
constexpr std::int64_t epochs_between_validations = 4;
constexpr double end_rate = 1e-4, power = 2;
constexpr std::int64_t free_momentum_from = 32768;

bool whole(double value) { return std::abs(std::round(value) - value) < 1e-5; }

class Judge {
 public:
  explicit Judge(const Row& row) : row_(row), facts_(row) {}

  std::vector<std::string> reasons() {
    if (row_.published) return {"the row is published, and was not measured"};
    if (row_.benchmark != "resnet50")
      return {fmt::format("its benchmark is {}, not resnet50", row_.benchmark)};
    if (facts_.text("direction") != "training") return {"it is inference, not training"};
    if (!row_.is_ok()) add("the row is {}: {}", row_.status, row_.reason);
    network();
    data();
    optimizer();
    if (row_.is_ok()) epochs();
    return std::move(reasons_);
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    reasons_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  void network() {
    constexpr const char* resnet50 = "d50w64s224c1000";
    const std::string& network = row_.problem.descriptor;
    if (network != resnet50) add("its network is {}, not {}", network, resnet50);
    const double smoothing = facts_.number("smoothing").value_or(-1);
    if (smoothing != 0 && smoothing != 0.1)
      add("--smoothing {} is neither 0 nor 0.1", facts_.text("smoothing"));
  }

  void data() {
    const auto set = [&](const char* name, std::int64_t expected) {
      const std::string data = facts_.text(name);
      if (const auto images = count_images(data); images != expected)
        add("--{} {} is not a set of files with {} images of 1000 classes", name, data, expected);
    };
    set("data", training_images);
    set("validation", validation_images);
    if (const std::string augment = facts_.text("augment");
        !augment.empty() && augment != "crop+flip")
      add("--augment {}: the reference crops and mirrors at random", augment);
    if (facts_.text("max_bad_samples") != "0")
      add("--max-bad-samples {}: images may have been left out", facts_.text("max_bad_samples"));
    if (const std::string trial = facts_.text("trial"); !trial.empty() && trial != "0")
      add("--trial {}: it drew from another seed than the log would say. Use --seed", trial);
    if (facts_.text("restart") != "no")
      add("--restart: the time between two parts of the training was not measured");
  }

  void optimizer() {
    const std::string rule = facts_.text("optimizer");
    if (rule != "sgd" && rule != "lars") add("--optimizer {} is neither sgd nor lars", rule);
    if (const std::string lag = facts_.text("lag"); !lag.empty() && lag != "0")
      add("--lag {}: its updates used the gradients of an earlier step", lag);
    const Schedule schedule = parse_schedule(facts_.text("schedule"));
    if (schedule.kind != "poly" || schedule.power != power || schedule.end != end_rate)
      add("--schedule {} is not poly:2:0.0001", facts_.text("schedule"));
    const double rate = facts_.base_rate();
    if (rule == "sgd" && !whole(rate / 0.001))
      add("the learning rate {:g} of {} images is not a multiple of 0.001", rate,
          facts_.global_batch());
    const double momentum = facts_.execution("momentum"), decay = facts_.execution("weight_decay");
    if (momentum != 0.9 && (rule == "sgd" || facts_.global_batch() < free_momentum_from))
      add("the momentum {} is not 0.9", momentum);
    if (!(decay > 0) || !whole(std::log2(decay / 1e-4)))
      add("the weight decay {} is not 0.0001 times a power of two", decay);
  }

  void epochs() {
    const std::vector<Epoch>& all = row_.epochs;
    if (all.empty()) return add("it did not train to an accuracy (throughput only: --epochs 0)");
    if (const std::int64_t first = all.front().epoch; first != 1)
      add("its first epoch is {}, not 1", first);
    const std::map<std::string, double>& reached = all.back().measures;
    const auto entry = reached.find("accuracy");
    if (entry == reached.end() && !find_quality(reached).empty())
      return add("its quality is {}, not accuracy", find_quality(reached));
    const double accuracy = entry == reached.end() ? -1 : entry->second;
    if (!(accuracy >= least_accuracy && accuracy < below_accuracy))
      add("its accuracy {} is not from 0.759 to below 1", accuracy);
    validations(all);
    if (!facts_.before_training())
      return add("it does not contain the start time of the process (setup_s.before_training)");
    double before = facts_.start_time();
    for (const Epoch& epoch : all)
      for (const auto& [name, time] : {std::pair{"started_unix_s", epoch.started_unix_s},
                                       std::pair{"trained_unix_s", epoch.trained_unix_s},
                                       std::pair{"ended_unix_s", epoch.ended_unix_s}}) {
        if (!time || *time < before)
          return add("epoch {} has no {}, or one before it is later", epoch.epoch, name);
        before = *time;
      }
  }

  /// "Every 4 epochs with offset 0 or 1 or 2 or 3."
  void validations(const std::vector<Epoch>& all) {
    std::int64_t last = 0;
    for (const Epoch& epoch : all) {
      if (find_quality(epoch.measures).empty()) continue;
      const std::int64_t now = epoch.epoch;
      if (last == 0 ? now > epochs_between_validations : now - last != epochs_between_validations)
        return add(
            "it was validated after epoch {} and then after {}, not every 4 epochs "
            "(--validate-every 4)",
            last, now);
      last = now;
    }
  }

  const Row& row_;
  RunFacts facts_;
  std::vector<std::string> reasons_;
};

}  // namespace

std::vector<std::string> why_no_submission(const Row& row) { return Judge(row).reasons(); }

Schedule parse_schedule(const std::string& text) {
  const std::vector<std::string> fields = split(text, ':');
  Schedule schedule{fields.empty() ? "" : fields[0], 0, 0};
  if (fields.size() > 1) schedule.power = parse_number(fields[1]).value_or(0);
  if (fields.size() > 2) schedule.end = parse_number(fields[2]).value_or(0);
  return schedule;
}

std::optional<std::int64_t> count_images(const std::string& set) {
  for (const std::string kind : {"tfrecord:n", "folder:n"}) {
    if (!set.starts_with(kind)) continue;
    const std::size_t classes = set.find("c1000:", kind.size());
    if (classes == std::string::npos) continue;
    return parse_number<std::int64_t>(
        std::string_view(set).substr(kind.size(), classes - kind.size()));
  }
  return std::nullopt;
}

std::optional<double> RunFacts::number(const char* parameter) const {
  return parse_number(text(parameter));
}

std::int64_t RunFacts::count(const char* parameter, std::int64_t otherwise) const {
  const std::optional<double> number = row_.number(parameter);
  return number ? std::llround(*number) : otherwise;
}

double RunFacts::execution(const char* name) const {
  const nlohmann::json value =
      row_.execution ? row_.execution->rest.value(name, nlohmann::json()) : nlohmann::json();
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t RunFacts::global_batch() const {
  return std::llround(row_.problem.number("global_batch_size").value());
}

// The rate is scaled as in models/network/schedule.hpp.
double RunFacts::base_rate() const {
  if (text("scaling") == "none") return number("rate").value_or(0);
  return number("rate").value_or(0) * static_cast<double>(global_batch()) / 256;
}

std::optional<double> RunFacts::before_training() const {
  const auto seconds = row_.setup_s.find("before_training");
  return seconds == row_.setup_s.end() ? std::nullopt : seconds->second;
}

double RunFacts::start_time() const {
  return row_.epochs.front().started_unix_s.value_or(0) - before_training().value_or(0);
}

}  // namespace assay::mllog
