// A whole backend: plain fp32 loops for forward convolution.
#include "core/api/backend_entry.hpp"

#include <nlohmann/json.hpp>

#include "core/api/host_device.hpp"
#include "kernels/conv/problem.hpp"

namespace assay::throwaway {

namespace {

class Convolution final : public Operation {
 public:
  explicit Convolution(const ConvProblem& problem)
      : shape_(problem.shape()), arguments_(problem.tensors()) {}
  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  void bind(std::span<Tensor* const> tensors) override {
    src_ = static_cast<const float*>(tensors[0]->data());
    weights_ = static_cast<const float*>(tensors[1]->data());
    dst_ = static_cast<float*>(tensors[2]->data());
  }
  void run(Stream&) override {
    const ConvShape& s = shape_;
    float* out = dst_;
    for (std::int64_t n = 0; n < s.mb; ++n)
      for (std::int64_t o = 0; o < s.oc; ++o)
        for (std::int64_t y = 0; y < s.oh; ++y)
          for (std::int64_t x = 0; x < s.ow; ++x) *out++ = element(n, o, y, x);
  }
  Execution execution() const override {
    Execution execution;
    execution.algorithm = "direct";
    execution.implementation = "throwaway loops";
    execution.storage = execution.compute = execution.accumulate = "fp32";
    execution.layout = "nchw";
    execution.evidence = "library";
    return execution;
  }

 private:
  float element(std::int64_t n, std::int64_t o, std::int64_t y, std::int64_t x) const {
    const ConvShape& s = shape_;
    float sum = 0;
    for (std::int64_t c = 0; c < s.ic; ++c)
      for (std::int64_t i = 0; i < s.kh; ++i)
        for (std::int64_t j = 0; j < s.kw; ++j) {
          const std::int64_t h = y * s.sh + i * (s.dh + 1) - s.ph,
                             w = x * s.sw + j * (s.dw + 1) - s.pw;
          if (h < 0 || h >= s.ih || w < 0 || w >= s.iw) continue;
          sum += src_[((n * s.ic + c) * s.ih + h) * s.iw + w] *
                 weights_[((o * s.ic + c) * s.kh + i) * s.kw + j];
        }
    return sum;
  }

  ConvShape shape_;
  std::vector<TensorSpec> arguments_;
  const float* src_ = nullptr;
  const float* weights_ = nullptr;
  float* dst_ = nullptr;
};

class ThrowawayBackend final : public Backend {
 public:
  std::string name() const override { return "throwaway"; }
  nlohmann::json software() const override { return {{"throwaway", "1.0"}}; }
  Result<Device*> device(const Options&) override { return &device_; }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                          Communicator&) override {
    if (problem.kind() != ConvProblem::kind_name)
      return Unsupported{"throwaway has no " + problem.kind()};
    const auto& conv = problem_cast<ConvProblem>(problem);
    const std::string algorithm = options.get("algorithm", "auto");
    if (conv.direction() != ConvDirection::forward || conv.precision() != Precision::fp32 ||
        conv.shape().g != 1 || conv.shape().kd != 1 ||
        (algorithm != "auto" && algorithm != "direct"))
      return Unsupported{
          "throwaway does forward fp32 direct convolution of images without groups only"};
    return std::make_unique<Convolution>(conv);
  }
  std::vector<std::string> algorithms(const std::string& kind) const override {
    return kind == ConvProblem::kind_name ? std::vector<std::string>{"direct"}
                                          : std::vector<std::string>{};
  }

 private:
  HostDevice device_;
};

Backend* create(std::string&) { return new ThrowawayBackend; }

}  // namespace

}  // namespace assay::throwaway

ASSAY_BACKEND(&assay::throwaway::create)
