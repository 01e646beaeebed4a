#include <nlohmann/json.hpp>
#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "kernels/conv/problem.hpp"
using namespace assay;
struct Conv final : BoundOperation {  // by its definition: kernels/conv/problem.hpp
  const ConvShape s;
  const int threads;
  Conv(const ConvProblem& problem, int threads) : BoundOperation(problem.tensors()), s(problem.shape()), threads(threads) {
    execution_.algorithm = "direct";
    execution_.storage = execution_.compute = execution_.accumulate = "fp32";
  }
  void run(Stream&) override {
#pragma omp parallel for num_threads(threads)
    for (std::int64_t at = 0; at < s.mb * s.oc * s.oh * s.ow; ++at) {
      const std::int64_t x = at % s.ow, y = at / s.ow % s.oh, o = at / (s.ow * s.oh) % s.oc, n = at / (s.ow * s.oh * s.oc);
      float& sum = data<float>(2)[at] = 0;
      for (std::int64_t tap = 0, taps = s.ic * s.kh * s.kw; tap < taps; ++tap) {
        const std::int64_t h = y * s.sh - s.ph + tap / s.kw % s.kh * (s.dh + 1), w = x * s.sw - s.pw + tap % s.kw * (s.dw + 1);
        if (h >= 0 && h < s.ih && w >= 0 && w < s.iw)  // padding is 0
          sum += data<float>(0)[((n * s.ic + tap / (s.kh * s.kw)) * s.ih + h) * s.iw + w] * data<float>(1)[o * taps + tap];
      }
    }
  }
};
Result<std::unique_ptr<Operation>> make_conv(Device&, const Problem& asked, const Options& options, Communicator&) {
  const auto& conv = problem_cast<ConvProblem>(asked);
  const std::string algorithm = options.get("algorithm", "auto"), layout = options.get("layout", "any");
  if (conv.precision() != Precision::fp32 || conv.direction() != ConvDirection::forward || (layout != "any" && layout != "nchw") ||
      conv.shape().g * conv.shape().id * conv.shape().kd > 1 || (algorithm != "auto" && algorithm != "direct"))
    return Unsupported{"example computes forward convolutions of images in fp32 and nchw, without groups, by the algorithm direct"};
  return std::make_unique<Conv>(conv, options.threads);
}
const Makers makers{{ConvProblem::kind_name, {ConvProblem::kind_version, &make_conv, {"direct"}}}};
struct Plugin final : HostBackend {
  Plugin() : HostBackend(makers) {}
  std::string name() const override { return "example"; }
  nlohmann::json software() const override { return {{"example", "0.1"}}; }
};
ASSAY_BACKEND([](std::string&) -> Backend* { return new Plugin; })  // assay-conv --backend example --problem mb1ic8ih8oc8kh3ph1
