// ratio: the faster of onednn's and native's step over that of measured choices, batch 16, fp32
// target: >= 1
// pairs: 10
// needs: hwy assay_models

#include "tests/self_benchmark/support/network_pairs.hpp"

int main(int argc, char** argv) {
  using namespace assay::self_benchmark;
  return print([&]() -> nlohmann::json {
    using Axes = std::map<std::string, std::string>;
    TimedNetwork measured(Axes{{"backend", "auto"}}), onednn(Axes{{"backend", "onednn"}}),
        native(Axes{{"backend", "native"}});
    for (const TimedNetwork* network : {&measured, &onednn, &native})
      if (!network->reason().empty()) return {{"skip", network->reason()}};
    const auto found = alternate(
        pairs_from(argc, argv), [&] { return std::min(onednn.seconds(1), native.seconds(1)); },
        [&] { return measured.seconds(1); });
    measured.verify();
    return {{"pairs", found}, {"unit", "s"}, {"note", measured.name()}};
  });
}
