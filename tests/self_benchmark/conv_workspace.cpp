// ratio: workspace of native's algorithms over the tensors, on 2 and on 64 threads, the worst case
// target: <= 2
// pairs: 15
// statistic: max
// Forward, fp32: the sizes of the other conv_ ratios, and a small one.

#include "core/program/suite.hpp"
#include "kernels/conv/benchmark.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace {

using namespace assay;

nlohmann::json workspaces() {
  const OperationBenchmark& benchmark = conv_benchmark();
  Plugins plugins;
  const auto ranks = make_serial_communicator();
  Result<Backend*> backend = plugins.open("native");
  if (const auto* refusal = std::get_if<Unsupported>(&backend)) return {{"skip", refusal->reason}};
  nlohmann::json all = nlohmann::json::array();
  for (const Case& benchmark_case :
       expand(benchmark,
              {{"problem",
                {"mb16ic64ih112oc128oh112kh3ph1", "mb16ic64ih56oc64oh56kh3ph1",
                 "mb16ic128ih28oc128oh28kh3ph1", "mb16ic256ih14oc256oh14kh3ph1",
                 "mb16ic512ih7oc512oh7kh3ph1", "mb1ic64ih14oc64oh14kh3ph1"}},
               {"backend", {"native"}},
               {"algorithm", {"implicit_gemm", "winograd_2x2", "winograd_4x4"}},
               {"threads", {"2", "64"}}},
              plugins)) {
    const auto problem = benchmark.problem(benchmark_case);
    auto made = std::get<Backend*>(backend)->make(
        *problem, {benchmark_case.settings, std::stoi(benchmark_case.settings.at("threads"))},
        *ranks);
    if (const auto* refusal = std::get_if<Unsupported>(&made))
      throw std::runtime_error(refusal->reason);
    const auto& operation = *std::get<std::unique_ptr<Operation>>(made);
    all.push_back({static_cast<double>(operation.execution().workspace_bytes), problem->bytes()});
  }
  return {{"pairs", all}, {"unit", "B"}, {"note", std::to_string(all.size()) + " cases"}};
}

}  // namespace

int main() { return assay::self_benchmark::print(workspaces); }
