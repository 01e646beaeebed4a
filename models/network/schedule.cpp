#include "models/network/schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr double most_power = 100;
constexpr std::uint64_t most_epochs = 1000000;

/// Refuses a list of fields with a wrong length for the kind of schedule.
void expect_fields(const std::string& flag, const std::string& text, std::size_t count,
                   std::size_t least, std::size_t most, const char* form) {
  if (count < least || count > most)
    throw InputError(fmt::format("{} '{}' has {} fields after its name. The form is {}.", flag,
                                 text, count, form));
}

std::vector<std::int64_t> parse_milestones(const std::string& flag, const std::string& text) {
  std::vector<std::int64_t> milestones;
  for (const std::string& part : split(text, '+')) {
    const auto epoch =
        static_cast<std::int64_t>(whole_number(flag + ": the epoch", part, 1, most_epochs));
    if (!milestones.empty() && epoch <= milestones.back())
      throw InputError(fmt::format(
          "{}: the epochs '{}' do not ascend ({} follows {}). Give each once, in order.", flag,
          text, epoch, milestones.back()));
    milestones.push_back(epoch);
  }
  return milestones;
}

}  // namespace

Decay parse_decay(const std::string& flag, const std::string& text) {
  const std::vector<std::string> kinds = {"constant", "step", "cosine", "poly"};
  const std::vector<std::string> fields = split(text, ':');
  const std::string& kind = fields[0];
  const std::size_t count = fields.size() - 1;
  Decay decay;
  if (kind == "constant") {
    expect_fields(flag, text, count, 0, 0, "constant");
  } else if (kind == "cosine") {
    expect_fields(flag, text, count, 0, 0, "cosine");
    decay.kind = Decay::Kind::cosine;
  } else if (kind == "step") {
    expect_fields(flag, text, count, 2, 2, "step:0.1:30+60+80");
    decay.kind = Decay::Kind::step;
    decay.factor = positive_number(flag + ": the factor", fields[1], "factor", 1);
    decay.milestones = parse_milestones(flag, fields[2]);
  } else if (kind == "poly") {
    expect_fields(flag, text, count, 1, 2, "poly:2 or poly:2:0.0001");
    decay.kind = Decay::Kind::polynomial;
    decay.power = positive_number(flag + ": the power", fields[1], "power", most_power);
    if (count == 2) decay.end = number_between(flag + ": the end rate", fields[2], 0, 1e6);
  } else {
    throw InputError(fmt::format("{}: {}", flag, explain_unknown_name("schedule", kind, kinds)));
  }
  return decay;
}

std::string to_text(const Decay& decay) {
  switch (decay.kind) {
    case Decay::Kind::constant:
      return "constant";
    case Decay::Kind::cosine:
      return "cosine";
    case Decay::Kind::step:
      return fmt::format("step:{}:{}", decay.factor, fmt::join(decay.milestones, "+"));
    case Decay::Kind::polynomial:
      break;
  }
  return fmt::format("poly:{}", decay.power) +
         (decay.end == 0 ? "" : fmt::format(":{}", decay.end));
}

double scale_rate(double base_rate, std::int64_t global_batch) {
  return base_rate * static_cast<double>(global_batch) / 256;
}

RateSchedule::RateSchedule(const ScheduleSettings& settings) : settings_(settings) {
  const auto& [rate, warmup, total, epoch, decay] = settings_;
  if (!(rate > 0) || !std::isfinite(rate))
    throw InputError(
        fmt::format("the learning rate {} is not positive and finite. Give one like 0.1.", rate));
  if (!(decay.end >= 0) || decay.end > rate)
    throw InputError(fmt::format(
        "the schedule {} ends at the rate {}, above the learning rate {}. Choose a lower end.",
        to_text(decay), decay.end, rate));
  if (warmup < 0 || total < 1 || warmup >= total || epoch < 1)
    throw InputError(fmt::format(
        "{} steps with a warm-up of {} are too few (a step must follow the warm-up). Train "
        "longer, or warm up for fewer steps.",
        total, warmup));
}

double RateSchedule::rate(std::int64_t step) const {
  const auto& [rate, warmup, total, epoch, decay] = settings_;
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double passed =
      static_cast<double>(std::min(step, total) - warmup) / static_cast<double>(total - warmup);
  switch (decay.kind) {
    case Decay::Kind::constant:
      return rate;
    case Decay::Kind::step: {
      double reduced = rate;
      for (const std::int64_t milestone : decay.milestones)
        if (step >= milestone * epoch) reduced *= decay.factor;
      return reduced;
    }
    case Decay::Kind::cosine:
      return rate * (1 + std::cos(std::numbers::pi * passed)) / 2;
    case Decay::Kind::polynomial:
      break;
  }
  return (rate - decay.end) * std::pow(1 - passed, decay.power) + decay.end;
}

}  // namespace assay
