// ratio: replays that blame a rank late by 3.1 %, and no healthy one: 95 % limit over 0.99
// target: >= 1
// pairs: 4000
// statistic: max
// group: blame

// No job runs here: each takes parts of ten steps of the noise that was recorded of a training
// (tests/core/measure/blame_noise.hpp); blame_found.py and blame_false.py have real jobs. The
// limits are exact (Clopper & Pearson, Biometrika 26, 1934). --pairs: jobs of each setting.

#include <boost/math/distributions/binomial.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "core/measure/blame.hpp"
#include "tests/core/measure/blame_noise.hpp"

using namespace assay;

namespace {

constexpr int enough_steps = 1500;  // at this noise, of 12.3 % of a step

/// A job of two ranks, of which the second is late by `late` on average, in a part of the steps.
Blame replay(double late, double part, std::mt19937_64& random) {
  Blame blame;
  blame.events = blame.runs = blame.seconds = enough_steps;
  blame.ranks.resize(2);
  for (Blame::Rank& rank : blame.ranks) rank.ready_s = 0;
  std::uniform_real_distribution<double> unit(0, 1);
  std::size_t at[2] = {};
  std::vector<double> arrivals, works;
  for (int step = 0; step < enough_steps; ++step)
    for (int rank = 0; rank < 2; ++rank) {
      constexpr std::size_t count = std::size(test_blame::noise);
      at[rank] = step % 10 == 0 ? random() % count : (at[rank] + 1) % count;
      const bool hit = rank == 1 && unit(random) < part;
      works.push_back(0.8 + 1e-4 * test_blame::noise[at[rank]] + (hit ? late / part : 0));
      arrivals.push_back(step + works.back());
    }
  set_costs({arrivals, works}, std::vector<double>{1e-5, 1e-5}, blame);
  for (std::size_t rank = 0; rank < 2; ++rank) blame.ranks[rank].rank = static_cast<int>(rank);
  judge(blame);
  return blame;
}

}  // namespace

int main(int argc, char** argv) {
  int jobs = 4000;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--pairs") == 0) jobs = std::max(1, std::atoi(argv[i + 1]));
  std::mt19937_64 random(1);
  nlohmann::json pairs = nlohmann::json::array();
  std::string note = std::to_string(jobs) + " replays of " + std::to_string(enough_steps) +
                     " steps each, no real jobs; right:";
  const struct {
    const char* name;
    double late, part;
  } settings[] = {
      {"late in each step", 0.031, 1}, {"in half of the steps", 0.031, 0.5}, {"healthy", 0, 1}};
  for (const auto& setting : settings) {
    int right = 0;
    for (int i = 0; i < jobs; ++i) {
      const Blame blame = replay(setting.late, setting.part, random);
      right += setting.late > 0 ? blame.blamed.size() == 1 && blame.blamed[0].rank == 1
                                : blame.blamed.empty();
    }
    const double least =
        boost::math::binomial_distribution<>::find_lower_bound_on_p(jobs, right, 0.05);
    pairs.push_back({least, 0.99});
    note += " " + std::to_string(right) + " " + setting.name + ",";
  }
  note.back() = '.';
  std::printf(
      "%s\n",
      nlohmann::json{{"pairs", pairs}, {"unit", "part of jobs"}, {"note", note}}.dump().c_str());
  return 0;
}
