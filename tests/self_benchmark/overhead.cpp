// ratio: oneDNN's direct fp32 convolution timed by measure() over a bare loop around the primitive
// target: <= 1.03
// pairs: 30
// needs: dnnl

#include <chrono>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "core/base/statistics.hpp"
#include "core/measure/timing.hpp"
#include "core/program/suite.hpp"
#include "kernels/conv/benchmark.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace {

using namespace assay;
using dnnl::memory;

constexpr int samples = 3;  // of each side in a pair, after one run that is not counted

/// The primitive as a user writes it: layouts left to the library, memory of its own, nothing of
/// Assay.
class BareLoop {
 public:
  BareLoop() {
    const auto any = [](memory::dims dims) {
      return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
    };
    const dnnl::convolution_forward::primitive_desc desc(
        engine_, dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
        any({16, 64, 112, 112}), any({128, 64, 3, 3}), any({16, 128, 112, 112}), {1, 1}, {1, 1},
        {1, 1});
    name_ = desc.impl_info_str();
    primitive_ = dnnl::convolution_forward(desc);
    for (const auto& [argument, layout] : {std::pair{DNNL_ARG_SRC, desc.src_desc()},
                                           std::pair{DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                           std::pair{DNNL_ARG_DST, desc.dst_desc()}}) {
      memory tensor(layout, engine_);
      auto* data = static_cast<float*>(tensor.get_data_handle());
      for (std::size_t i = 0; i < layout.get_size() / sizeof(float); ++i)
        data[i] = static_cast<float>(i % 1009) * 0x1.234567p-10f - 0.5f;
      arguments_.emplace(argument, tensor);
    }
  }
  const std::string& name() const { return name_; }

  double median() {
    std::vector<double> times;
    for (int i = 0; i <= samples; ++i) {
      const auto start = std::chrono::steady_clock::now();
      primitive_.execute(stream_, arguments_);
      stream_.wait();
      if (i > 0)
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return assay::median(times);
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::convolution_forward primitive_;
  std::unordered_map<int, memory> arguments_;
  std::string name_;
};

nlohmann::json overhead(int pairs) {
  const OperationBenchmark& benchmark = conv_benchmark();
  Plugins plugins;
  const auto ranks = make_serial_communicator();
  CaseContext context{plugins, *ranks};
  const std::vector<Case> cases = expand(benchmark,
                                         {{"problem", {"mb16ic64ih112oc128oh112kh3ph1"}},
                                          {"direction", {"forward"}},
                                          {"precision", {"fp32"}},
                                          {"backend", {"onednn"}},
                                          {"algorithm", {"direct"}}},
                                         plugins);
  auto made = benchmark.prepare(cases.at(0), context);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
  const std::unique_ptr<Workload> workload = std::move(std::get<std::unique_ptr<Workload>>(made));
  const Verification before = workload->verify_before();
  if (!before.passed)
    throw std::runtime_error("the result is wrong (" + before.reason +
                             "). Mend it before timing it.");

  BareLoop bare;
  if (bare.name() != workload->execution().implementation) {
    return {{"skip", "the library chose '" + bare.name() + "' for the bare loop and '" +
                         workload->execution().implementation + "' for Assay"}};
  }
  // max_time of two runs: the warm-up's fifth of it is one run, as in the bare loop; the minimum of
  // samples ends the rest.
  TimingOptions options;
  options.max_time = 2 * bare.median();
  options.min_samples = options.max_samples = samples;
  const auto timed = [&] { return median(measure(*workload, *ranks, options).samples); };
  nlohmann::json result = self_benchmark::alternate(pairs, timed, [&] { return bare.median(); });
  const Verification after = workload->verify_after();
  if (!after.passed)
    throw std::runtime_error("the result is wrong after timing (" + after.reason + ").");
  return {{"pairs", result},
          {"unit", "s"},
          {"note", bare.name() + ", " + std::to_string(samples) + " samples a side"}};
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] { return overhead(self_benchmark::pairs_from(argc, argv)); });
}
