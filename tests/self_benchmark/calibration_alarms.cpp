// ratio: A/A suites with a false alarm, the worst simulated noise, over the 99.9 % bound
// target: <= 1
// pairs: 5000
// statistic: max

// --pairs: suites of each noise. All figures on stderr.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/analysis/compare/simulation.hpp"

using namespace assay::simulation;

int main(int argc, char** argv) {
  int suites = 5000;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--pairs") == 0) suites = std::max(1, std::atoi(argv[i + 1]));
  const double limit = bound(suites, Setting{}.rate);
  nlohmann::json pairs = nlohmann::json::array();
  int worst = 0;
  std::fprintf(
      stderr,
      "%d suites of 100 rows, 0.3 to 5 %% launch to launch; bound %.0f\n%-20s %9s %12s %12s %10s\n",
      suites, limit, "noise", "tolerance", "with alarm", "detection", "flagged");
  for (const Noise noise : all_noises)
    for (const double tolerance : {0.02, 0.0}) {
      Setting setting;
      setting.noise = noise;
      setting.tolerance = tolerance;
      const Alarms found = alarms(setting, suites, 1);
      std::fprintf(stderr, "%-20s %7.0f %% %12d %12d %10.1f\n", name_of(noise), 100 * tolerance,
                   found.with_alarm, found.with_detection, found.flagged);
      pairs.push_back({found.with_detection, limit});
      worst = std::max(worst, found.with_detection);
    }
  std::fprintf(stderr, "the new side's launches spread more (base 1 %%), tolerance 0:\n");
  for (const Noise noise : {Noise::normal, Noise::heavy_tailed})
    for (const double spread : {1.0, 3.0, 5.0}) {
      Setting setting;
      setting.noise = noise;
      setting.variation = 0.01;
      setting.spread = spread;
      setting.tolerance = 0;
      const Alarms found = alarms(setting, suites, 5);
      std::fprintf(stderr, "%-20s %5.0f : 1 %12d %12d %10.1f\n", name_of(noise), spread,
                   found.with_alarm, found.with_detection, found.flagged);
      pairs.push_back({found.with_detection, limit});
      worst = std::max(worst, found.with_detection);
    }
  Setting apart;
  apart.noise = Noise::drifting;
  apart.interleaved = false;
  const int few = std::max(1, suites / 10);
  std::fprintf(stderr, "for comparison, sides one after the other under linear drift: %d of %d\n",
               alarms(apart, few, 2).with_alarm, few);
  std::printf("%s\n",
              nlohmann::json{{"pairs", pairs},
                             {"unit", "suites"},
                             {"note", std::to_string(worst) + " of " + std::to_string(suites) +
                                          " suites at worst, bound " +
                                          std::to_string(static_cast<int>(limit))}}
                  .dump()
                  .c_str());
  return 0;
}
