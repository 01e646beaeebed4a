#include "core/result/row_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/result/formula.hpp"
#include "core/result/layers.hpp"
#include "core/result/result_check.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An amount of work that is the product of other fields of the problem. Files older than
/// /problem/amounts have only the fields; in newer files both must agree.
struct AmountOfFields {
  const char* rate;
  std::array<const char*, 2> fields;
  std::string text() const {
    return fmt::format("/problem/{}", fields[0]) +
           (fields[1] == nullptr ? "" : fmt::format(" x /problem/{}", fields[1]));
  }
};
constexpr std::array amounts_of_fields{AmountOfFields{"flops_per_s", {"flops", nullptr}},
                                       AmountOfFields{"bytes_per_s", {"bytes", nullptr}},
                                       AmountOfFields{"algbw", {"bytes", nullptr}},
                                       AmountOfFields{"busbw", {"bytes", "busbw_factor"}},
                                       AmountOfFields{"deepbench_bw", {"bytes", "ranks"}}};

/// The checks of one ok row. `where` names it in messages.
class RowCheck {
 public:
  RowCheck(const json& row, const std::string& where, int statistics)
      : row_(row), where_(where), statistics_(statistics) {}

  /// Checks everything that depends on the row alone.
  void alone() const {
    times();
    rates();
    verification();
    energy();
    baseline();
    exposed();
    epochs();
    if (row_.contains("layers") || row_.contains("layers_sum")) check_layers(row_, where_);
    formula::check_formulas(row_, where_);
  }

  /// The same of a row without samples.
  void without_samples() const {
    const json& time = row_.at("time_s");
    plausible(time, time.at("min"), time.at("p99"));
    rates();
    verification();
    formula::check_formulas(row_, where_);
  }

  /// Checks the ceiling: the larger of the least times that peak and bandwidth allow, over the
  /// median. `brackets`: of the run, or nullptr.
  void ceiling(const json* brackets) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(where_ + what); }

  static bool near(double a, double b) {
    // Numbers are written with all digits and recomputed in the same way, so only rounding may
    // differ.
    return std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b));
  }

  void expect(const std::string& pointer, const json& actual, double expected,
              const std::string& origin) const {
    if (actual.is_number() && near(actual.get<double>(), expected)) return;
    refuse(fmt::format("{}: found {}, expected {} ({}). The file was changed by hand.", pointer,
                       actual.dump(), json(expected).dump(), origin));
  }

  void times() const {
    const std::vector<double> samples = row_.at("samples_s");
    const json& time = row_.at("time_s");
    if (time.at("n") != samples.size())
      refuse(fmt::format("/time_s/n: found {}, expected {} (the number of samples).",
                         time.at("n").dump(), samples.size()));
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    expect("/time_s/min", time.at("min"), *least, "the least of samples_s");
    of_ranks(time);
    if (statistics_ == statistics_version)
      recomputed(time, summarize(samples));
    else
      plausible(time, *least, *most);
  }

  /// Each sample is the time of the slowest rank, so the median is at least the median of any rank,
  /// for all versions of the statistics.
  void of_ranks(const json& time) const {
    const json own = time.value("rank_medians_s", json::array());
    const double median = time.at("median");
    for (const json& of_rank : own)
      if (of_rank.get<double>() > median * (1 + 1e-9))
        refuse(fmt::format("/time_s/rank_medians_s: found {}, expected at most the median {}.",
                           of_rank.dump(), median));
    const json ranks = row_.at("parameters").value("ranks", json());
    if (!own.empty() && ranks.is_number() && ranks != own.size())
      refuse(
          fmt::format("/time_s/rank_medians_s: found {} medians, expected {} "
                      "(/parameters/ranks).",
                      own.size(), ranks.dump()));
  }

  /// Statistics of this version: each number must be what summarize() makes of the samples.
  void recomputed(const json& time, const Summary& now) const {
    const std::array<std::tuple<const char*, double, const char*>, 5> parts{
        {{"median", now.median, "the median of samples_s"},
         {"mad", now.mad, "the median deviation of samples_s"},
         {"p95", now.p95, "the 95th percentile of samples_s"},
         {"p99", now.p99, "the 99th percentile of samples_s"},
         {"n_effective", now.n_effective, "from the autocorrelation of samples_s"}}};
    for (const auto& [name, value, origin] : parts)
      expect(fmt::format("/time_s/{}", name), time.at(name), value, origin);
    const json& interval = time.at("ci95");
    if (!now.ci95) {
      if (!interval.is_null())
        refuse(
            fmt::format("/time_s/ci95: found {}, expected null ({:.3g} effective samples, an "
                        "interval needs {}).",
                        interval.dump(), now.n_effective, least_for_interval));
      return;
    }
    if (!interval.is_array())
      refuse(fmt::format("/time_s/ci95: found {}, expected the interval of samples_s.",
                         interval.dump()));
    expect("/time_s/ci95/0", interval.at(0), now.ci95->low, "the interval of samples_s");
    expect("/time_s/ci95/1", interval.at(1), now.ci95->high, "the interval of samples_s");
  }

  /// Checks statistics of another version: for any estimator, a location is within the range of the
  /// samples, and a deviation is at most this range.
  void plausible(const json& time, double least, double most) const {
    const auto within = [&](const char* name, double low, double high) {
      const double slack = 1e-9 * high, value = time.at(name);
      if (value < low - slack || value > high + slack)
        refuse(fmt::format("/time_s/{}: found {}, expected {:.6g} to {:.6g} (the samples' range).",
                           name, time.at(name).dump(), low, high));
    };
    for (const char* name : {"median", "p95", "p99"}) within(name, least, most);
    within("mad", 0, most - least);
    if (const json interval = time.value("ci95", json());
        interval.is_array() && interval.at(0) > interval.at(1))
      refuse(fmt::format("/time_s/ci95: found {}, expected its lower end first.", interval.dump()));
  }

  void rate(const std::string& name, const json& amount, const std::string& origin) const {
    const json& rates = row_.at("rates");
    const double median = row_.at("time_s").at("median");
    if (!amount.is_number() || !rates.contains(name) || rates[name].is_null()) return;
    if (!(median > 0))
      refuse(
          fmt::format("/rates/{}: found {}, expected none (the time is below the clock's "
                      "resolution).",
                      name, rates[name].dump()));
    expect(fmt::format("/rates/{}", name), rates[name], amount.get<double>() / median, origin);
  }

  void rates() const {
    const json& problem = row_.at("problem");
    if (problem.contains("amounts"))
      rates_of_amounts(problem.at("amounts"));
    else
      rates_of_fields();
    const json& rates = row_.at("rates");
    const json really = row_.at("executed").value("algorithmic_flops", json());
    rate("algorithmic_flops_per_s", really, "/executed/algorithmic_flops over the median");
    const json own = rates.value("algorithmic_flops_per_s", json());
    if (really.is_number() || own.is_null()) return;
    const json algorithm = row_.at("executed").at("algorithm");
    if (algorithm.is_string() && saves_operations(algorithm))
      refuse(
          fmt::format("/rates/algorithmic_flops_per_s: found {}, expected null (how many "
                      "operations {} did is not known).",
                      own.dump(), algorithm.get<std::string>()));
    const json direct = rates.value("flops_per_s", json());
    if (direct.is_number())
      expect("/rates/algorithmic_flops_per_s", own, direct, "/rates/flops_per_s");
  }

  void check_bracket(const char* rate, const char* amount, const json& ceiling,
                     const json& brackets) const;

  /// If the problem declares its amounts, each rate is its amount over the median, and there are no
  /// other rates.
  void rates_of_amounts(const json& amounts) const {
    for (const auto& [name, value] : row_.at("rates").items())
      if (name != "algorithmic_flops_per_s" && !amounts.contains(name))
        refuse(fmt::format("/rates/{}: found {}, expected a rate of /problem/amounts.", name,
                           value.dump()));
    for (const AmountOfFields& known : amounts_of_fields)
      if (const json product = multiply_fields(known);
          product.is_number() && amounts.contains(known.rate))
        expect(fmt::format("/problem/amounts/{}", known.rate), amounts.at(known.rate), product,
               known.text());
    for (const auto& [name, amount] : amounts.items())
      rate(name, amount, fmt::format("/problem/amounts/{} over the median", name));
  }

  /// Checks the rates of a file without amounts.
  void rates_of_fields() const {
    for (const AmountOfFields& known : amounts_of_fields)
      rate(known.rate, multiply_fields(known), known.text() + " over the median");
  }

  /// The product of the fields; null if the problem lacks one of them.
  json multiply_fields(const AmountOfFields& amount) const {
    double product = 1;
    for (const char* field : amount.fields) {
      if (field == nullptr) continue;
      const json value = row_.at("problem").value(field, json());
      if (!value.is_number()) return nullptr;
      product *= value.get<double>();
    }
    return product;
  }

  /// Checks what must hold for errors that passed. `bound` belongs to the element with the largest
  /// error/bound; another element may have a larger error.
  void verification() const {
    const json& all = row_.at("verification");
    const auto number = [&](const char* name) -> std::optional<double> {
      const json value = all.value(name, json());
      return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
    };
    const auto at_most = [&](const char* name, double most, const char* why) {
      const double actual = all.at(name);
      if (actual > most && !near(actual, most))
        refuse(fmt::format("/verification/{}: found {}, expected at most {} ({}).", name,
                           all.at(name).dump(), json(most).dump(), why));
    };
    if (number("wrong").value_or(0) > 0) at_most("wrong", 0, "the row is ok");
    const auto checked = number("checked"), outputs = number("outputs"),
               part = number("error_over_bound"), norm_bound = number("norm_bound");
    if (part) at_most("error_over_bound", 1, "the row is ok");
    if (checked && outputs) at_most("checked", *outputs, "the number of outputs");
    if (norm_bound) at_most("norm_error", *norm_bound, "norm_bound");
    const double max_error = all.at("max_error"), norm_error = all.at("norm_error"),
                 bound = all.at("bound");
    if (norm_error == 0)  // no norm test was made, or there is no error at all
      at_most("max_error", bound, "bound");
    else if (checked)  // the 2-norm bounds the largest error; both are relative
      at_most("max_error", norm_error * std::sqrt(*checked), "norm_error and checked");
    // With several ranks, each number is the worst of all ranks, so they need not belong to one
    // element.
    const bool alone = row_.at("parameters").value("ranks", json(1)) == 1;
    if (const double least = part.value_or(0) * bound;
        alone && max_error < least && !near(max_error, least))
      refuse(
          fmt::format("/verification/max_error: found {}, expected at least {:.6g} "
                      "(error_over_bound of bound).",
                      all.at("max_error").dump(), least));
  }

  void energy() const {
    const json joules = row_.value("energy_j", json());
    if (!joules.is_number()) return;
    double sum = 0;
    for (const auto& [domain, part] : row_.at("energy_domains_j").items())
      sum += part.get<double>();
    expect("/energy_j", joules, sum, "the sum of /energy_domains_j");
  }

  /// The part of a communication that a computation of this many seconds did not hide.
  void exposed() const {
    const json actual = row_.at("executed").value("exposed_s", json()),
               compute = row_.at("executed").value("compute_s", json());
    if (actual.is_number() && compute.is_number())
      expect("/executed/exposed_s", actual,
             row_.at("time_s").at("median").get<double>() - compute.get<double>(),
             "/time_s/median less /executed/compute_s");
  }

  /// Epochs have successive numbers and ascending times, and the last one agrees with the metrics.
  void epochs() const {
    const json all = row_.value("epochs", json::array());
    if (all.empty()) return;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const json &before = all[i - 1], &now = all[i];
      if (now.at("epoch") != before.at("epoch").get<std::int64_t>() + 1)
        refuse(fmt::format("/epochs/{}/epoch: found {}, expected the one after {}.", i,
                           now["epoch"].dump(), before["epoch"].dump()));
      if (now.at("seconds") < before.at("seconds"))
        refuse(
            fmt::format("/epochs/{}/seconds: found {}, expected no less than {} (the epoch "
                        "before).",
                        i, now["seconds"].dump(), before["seconds"].dump()));
    }
    const json metrics = row_.value("metrics", json::object());
    std::string time;  // the metric of a training that reached its target
    for (const auto& [name, value] : metrics.items())
      if (name.starts_with("time_to_")) time = name;
    for (const auto& [name, value] : all.back().items()) {
      const std::string metric = name == "epoch" ? "epochs" : name == "seconds" ? time : name;
      if (metrics.contains(metric))
        expect(fmt::format("/epochs/{}/{}", all.size() - 1, name), value,
               metrics[metric].at("value").is_number() ? metrics[metric]["value"].get<double>()
                                                       : std::nan(""),
               "/metrics/" + metric);
    }
  }

  void baseline() const {
    const json& baseline = row_.at("baseline");
    const double median = row_.at("time_s").at("median");
    if (!baseline.is_object() || !(median > 0)) return;
    if (const std::string unit = baseline.at("unit"); unit != "s") {
      const json mine = row_.at("rates").value(unit, json());
      if (!mine.is_number())
        refuse(fmt::format("/baseline/unit: found {}, expected s or a rate of the row.",
                           baseline["unit"].dump()));
      expect("/baseline/speedup", baseline.at("speedup"),
             mine.get<double>() / baseline.at("value").get<double>(),
             "/rates/" + unit + " over /baseline/value");
      return;
    }
    expect("/baseline/speedup", baseline.at("speedup"), baseline.at("value").get<double>() / median,
           "/baseline/value over the median");
  }

  const json& row_;
  const std::string& where_;
  int statistics_;
};

void RowCheck::ceiling(const json* brackets) const {
  const double median = row_.at("time_s").at("median");
  if (!row_.contains("ceiling") || !row_["ceiling"].is_object() || !(median > 0)) return;
  const json& ceiling = row_["ceiling"];
  const json& problem = row_.at("problem");
  json work = row_.at("executed").value("algorithmic_flops", json());
  if (!work.is_number()) work = problem.value("flops", json());
  const json moved = ceiling.value("memory_bytes", problem.value("bytes", json()));
  const auto seconds = [](const json& amount, const json& rate) {
    return amount.is_number() && rate.is_number() && rate > 0
               ? amount.get<double>() / rate.get<double>()
               : 0.0;
  };
  const double compute = seconds(work, ceiling.at("flops_per_s")),
               memory = seconds(moved, ceiling.at("bytes_per_s"));
  const double least = std::max(compute, memory);
  expect("/ceiling/fraction", ceiling.at("fraction"), least / median,
         "the least time that the ceilings allow over the median");
  const std::string bound = compute >= memory ? "compute" : ceiling.value("level", "memory");
  if (ceiling.at("bound_by") != bound && !near(compute, memory))
    refuse(fmt::format("/ceiling/bound_by: found {}, expected \"{}\" (it takes longer).",
                       ceiling["bound_by"].dump(), bound));
  const bool exceeded = least > (1 + ceiling_exceeded_above) * median;
  if (ceiling.value("exceeded", exceeded) != exceeded)
    refuse(fmt::format("/ceiling/exceeded: found {}, expected {} (the fraction is {:.4g}).",
                       ceiling["exceeded"].dump(), exceeded, least / median));
  if (ceiling.contains("brackets")) {
    static const json none = json::array();
    const json& all = brackets == nullptr ? none : *brackets;
    check_bracket("flops_per_s", "flops", ceiling, all);
    check_bracket("bytes_per_s", "bytes", ceiling, all);
  }
}

/// A rate of a ceiling is the best sample of a row of its brackets (measured by one rank), times
/// the number of ranks that share the problem.
void RowCheck::check_bracket(const char* rate, const char* amount, const json& ceiling,
                             const json& brackets) const {
  if (!ceiling.at(rate).is_number()) return;
  const double of_rank = ceiling[rate].get<double>() / row_.at("problem").value("shared_by", 1.0);
  for (const json& place : ceiling["brackets"]) {
    const std::size_t index = place;
    if (index >= brackets.size())
      refuse(
          fmt::format("/ceiling/brackets: found {}, expected less than {} (the number of "
                      "brackets).",
                      index, brackets.size()));
    for (const json& row : brackets[index].at("rows")) {
      const json done = row.at("problem").value(amount, json());
      if (row.at("status") != "ok" || !done.is_number()) continue;
      const double least = row.at("time_s").at("min");
      if (least > 0 && near(done.get<double>() / least, of_rank)) return;
    }
  }
  refuse(
      fmt::format("/ceiling/{}: found {}, expected a rate of its brackets' rows. The file was "
                  "changed by hand.",
                  rate, ceiling[rate].dump()));
}

}  // namespace

void check_numbers(const json& row, const std::string& where, int statistics) {
  RowCheck(row, where, statistics).alone();
}

void check_bracket_row(const json& row, const std::string& where) {
  RowCheck(row, where, statistics_version).without_samples();
}

void check_ceiling(const json& row, const std::string& where, int statistics,
                   const json* brackets) {
  RowCheck(row, where, statistics).ceiling(brackets);
}

}  // namespace assay
