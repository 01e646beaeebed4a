// stdin: {"pairs": [[a, b], …]}; stdout: {"value", "low", "high", "least", "greatest", "n"} of the
// ratios a / b. It gives scripts/self-benchmark the project's own statistics, so that it has none
// of its own.

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/statistics.hpp"

int main() try {
  const nlohmann::json input = nlohmann::json::parse(std::cin);
  std::vector<double> a, b, ratios;
  for (const nlohmann::json& pair : input.at("pairs")) {
    a.push_back(pair.at(0).get<double>());
    b.push_back(pair.at(1).get<double>());
    ratios.push_back(a.back() / b.back());
  }
  const assay::Ratio ratio = assay::compute_paired_ratio(a, b);
  std::cout << nlohmann::json{{"value", ratio.value},
                              {"low", ratio.ci95.low},
                              {"high", ratio.ci95.high},
                              {"least", assay::quantile(ratios, 0)},
                              {"greatest", assay::quantile(ratios, 1)},
                              {"n", ratio.n}}
            << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "evaluate: " << error.what() << '\n';
  return 2;
}
