#pragma once
// Simulated suites of launch medians, judged by the functions that `assay compare` uses: the
// launches of both sides alternate, as `assay run --against` makes them, on one machine whose state
// goes on from launch to launch.

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/compare/verdict.hpp"

namespace assay::simulation {

enum class Noise { normal, heavy_tailed, drifting, random_walk, autocorrelated, bimodal };
inline constexpr Noise all_noises[] = {Noise::normal,      Noise::heavy_tailed,   Noise::drifting,
                                       Noise::random_walk, Noise::autocorrelated, Noise::bimodal};
inline const char* name_of(Noise noise) {
  static constexpr const char* names[] = {"normal",      "heavy-tailed (t3)", "linear drift",
                                          "random walk", "AR(1), 0.7",        "bimodal"};
  return names[static_cast<int>(noise)];
}

/// The same series on every platform: the engine is standardised, its distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return boost::math::quantile(boost::math::normal(), uniform()); }

 private:
  std::mt19937_64 engine_;
};

/// Logarithms of the medians of `count` successive launches of one row, of standard deviation
/// `variation` about the machine's state.
inline std::vector<double> launches(Random& random, Noise noise, double variation,
                                    std::size_t count) {
  std::vector<double> logs(count);
  const double drift = 0.2 * random.uniform() - 0.1;  // over all launches, up to 10 % either way
  double state = random.normal();
  for (std::size_t i = 0; i < count; ++i) {
    double value = random.normal();
    switch (noise) {
      case Noise::heavy_tailed: {
        double squares = 0;
        for (int k = 0; k < 3; ++k) squares += std::pow(random.normal(), 2);
        value /= std::sqrt(squares);  // t with 3 degrees of freedom, over its deviation √3
        break;
      }
      case Noise::random_walk:
        state += random.normal();
        value += state;
        break;
      case Noise::autocorrelated:
        state = 0.7 * state + std::sqrt(1 - 0.49) * value;
        value = state;
        break;
      default:
        break;
    }
    logs[i] = variation * value;
    if (noise == Noise::drifting)
      logs[i] += drift * static_cast<double>(i) / static_cast<double>(count);
    if (noise == Noise::bimodal && random.uniform() < 0.1) logs[i] += std::log(1.2);
  }
  return logs;
}

struct Setting {
  Noise noise = Noise::normal;
  double variation = 0;  ///< of every row; 0: 0.3 % to 5 %, another in each row
  double spread = 1;     ///< of the new side's launches over the base's
  double change = 0;     ///< of the first row
  double tolerance = 0.02, rate = 0.01;
  int rows = 100;
  bool interleaved = true;
};

struct Sides {
  std::vector<double> base, updated;
};
inline Sides measure(Random& random, const Setting& setting, double variation, double change,
                     std::size_t a_side) {
  const std::vector<double> logs = launches(random, setting.noise, variation, 2 * a_side);
  Sides sides;
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (setting.interleaved ? i % 2 == 0 : i < a_side)
      sides.base.push_back(std::exp(logs[i]));
    else
      sides.updated.push_back(std::exp(setting.spread * logs[i]) * (1 + change));
  return sides;
}

struct Suite {
  Verdict first = Verdict::inconclusive;  ///< of the first row, which is the one that changes
  int flagged = 0, false_alarms = 0;      ///< verdicts faster or slower of rows that did not change
  int false_detections = 0;               ///< of rows that did not change, whether tolerated or not
};

inline Suite run(Random& random, const Setting& setting) {
  struct Row {
    double variation, change;
    LaunchComparison screen;
  };
  std::vector<Row> rows;
  Suite suite;
  for (int i = 0; i < setting.rows; ++i) {
    Row row{setting.variation, i == 0 ? setting.change : 0, {}};
    if (row.variation == 0) row.variation = 0.003 * std::pow(0.05 / 0.003, random.uniform());
    const Sides screen = measure(random, setting, row.variation, row.change, screen_launches);
    row.screen = compare_launches(screen.base, screen.updated, compare_confidence);
    suite.flagged += is_flagged(row.screen, setting.tolerance);
    rows.push_back(row);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Judgement judgement = judge_screen(rows[i].screen, setting.tolerance);
    if (judgement.needs_confirmation) {
      const Sides fresh =
          measure(random, setting, rows[i].variation, rows[i].change, fresh_launches);
      judgement = judge_fresh(compare_fresh(fresh.base, fresh.updated, compare_confidence),
                              setting.tolerance, setting.rate / suite.flagged);
    }
    if (i == 0) suite.first = judgement.verdict;
    if (rows[i].change != 0) continue;
    suite.false_detections += judgement.detected;
    suite.false_alarms +=
        judgement.verdict == Verdict::slower || judgement.verdict == Verdict::faster;
  }
  return suite;
}

/// The count that `suites` suites of the declared rate exceed once in a thousand.
inline double bound(int suites, double rate) {
  return boost::math::quantile(boost::math::binomial(suites, rate), 0.999);
}

struct Alarms {
  int suites = 0, with_alarm = 0, with_detection = 0;
  double flagged = 0;  ///< rows a suite
};
inline Alarms alarms(const Setting& setting, int suites, std::uint64_t seed) {
  Random random(seed);
  Alarms all;
  all.suites = suites;
  for (int i = 0; i < suites; ++i) {
    const Suite suite = run(random, setting);
    all.with_alarm += suite.false_alarms > 0;
    all.with_detection += suite.false_detections > 0;
    all.flagged += static_cast<double>(suite.flagged) / suites;
  }
  return all;
}

/// Part of the suites in which the changed row is detected.
inline double power(const Setting& setting, int suites, std::uint64_t seed) {
  Random random(seed);
  int detected = 0;
  for (int i = 0; i < suites; ++i)
    detected +=
        run(random, setting).first == (setting.change > 0 ? Verdict::slower : Verdict::faster);
  return static_cast<double>(detected) / suites;
}

}  // namespace assay::simulation
