// ratio: oneDNN's auto over native auto, geomean of ResNet-50's 3x3 stride-1 layers
// target: >= 1.2
// pairs: 30

#include <cmath>

#include "tests/self_benchmark/support/conv_pairs.hpp"

namespace {

using namespace assay::self_benchmark;

nlohmann::json resnet50(int pairs) {
  constexpr const char* problems[] = {"mb16ic64ih56oc64oh56kh3ph1", "mb16ic128ih28oc128oh28kh3ph1",
                                      "mb16ic256ih14oc256oh14kh3ph1", "mb16ic512ih7oc512oh7kh3ph1"};
  constexpr int samples = 3;
  // A side of a pair is the geometric mean of its times, so that the ratio is that of the ratios.
  std::vector<std::array<double, 2>> logs(static_cast<std::size_t>(pairs), {0, 0});
  std::string note;
  for (const char* problem : problems) {
    ConvPair pair(problem, "onednn/auto", "native/auto");
    if (!pair.reason().empty()) return {{"skip", pair.reason()}};
    const nlohmann::json found = pair.pairs(pairs, samples);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const double a = found[i][0], b = found[i][1];
      logs[i][0] += std::log(a);
      logs[i][1] += std::log(b);
      ratios.push_back(a / b);
    }
    note += std::string(problem) + " " + std::to_string(assay::ratio_median(ratios)) + " (" +
            pair.names() + "), ";
  }
  nlohmann::json all = nlohmann::json::array();
  for (const std::array<double, 2>& log : logs)
    all.push_back({std::exp(log[0] / std::size(problems)), std::exp(log[1] / std::size(problems))});
  return {{"pairs", all}, {"unit", "s"}, {"note", note + conv_threads + " threads"}};
}

}  // namespace

int main(int argc, char** argv) {
  return print([&] { return resnet50(pairs_from(argc, argv)); });
}
