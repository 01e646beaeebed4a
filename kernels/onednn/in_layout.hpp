#pragma once
// Primitives on activations, and functions that create them in the requested layout.

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/api/layout.hpp"
#include "kernels/onednn/backend.hpp"
#include "kernels/onednn/device.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::onednn {

/// One primitive, whose arguments are the tensors of the problem. A derived constructor adds them
/// to call_, in the order of arguments_, and ends with finish().
class OnePrimitive : public BoundOperation {
 public:
  void bind(std::span<Tensor* const> tensors) final {
    call_.bind(tensors);
    set_threads(threads_);
  }
  void run(Stream& stream) final { execute(primitive_, stream, call_.call(), noun_); }

 protected:
  /// `noun`: "resampling", for messages.
  OnePrimitive(const std::vector<TensorSpec>& tensors, Precision precision,
               const std::string& layout, int threads, const char* noun)
      : BoundOperation(tensors), threads_(threads), noun_(noun) {
    if (layout == "nhwc") lay_channels_last(arguments_);
    execution_.algorithm = "direct";
    execution_.storage = std::string(name(precision));
    execution_.compute = execution_.accumulate = std::string(name(DataType::fp32));
    execution_.layout = layout;
    execution_.evidence = "library";
  }
  static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }
  template <class Description>
  void finish(const Description& description, dnnl::primitive primitive,
              const dnnl::engine& engine) {
    primitive_ = std::move(primitive);
    execution_.implementation = description.impl_info_str();
    execution_.workspace_bytes = description.scratchpad_desc().get_size();
    add_scratchpad(description.scratchpad_desc(), engine, arguments_, call_);
  }

  Arguments call_;

 private:
  int threads_;
  const char* noun_;
  dnnl::primitive primitive_;
};

/// Creates Own for "nchw" or "nhwc"; if any layout is acceptable, for "nhwc". `noun`: "pooling".
template <class P, class Own>
Result<std::unique_ptr<Operation>> make_in_layout(Device& device, const Problem& what,
                                                  const Options& options, const char* noun) {
  const P& problem = problem_cast<P>(what);
  const dnnl::engine& engine = static_cast<OneDnnDevice&>(device).engine();
  const std::string layout = options.get("layout", "any"),
                    request = fmt::format("{} {} {}", name(problem.precision()),
                                          name(problem.direction()), problem.canonical());
  if (auto why = refuse_algorithm(options, "onednn", {"direct"}, problem.kind()))
    return std::move(*why);
  if (layout != "any" && layout != "nchw" && layout != "nhwc")
    return Unsupported{fmt::format("onednn has no layout {}. Use any, nchw or nhwc.", layout)};
  if (const auto why = why_not_precision(problem)) return Unsupported{*why};
  if (problem.precision() == Precision::fp64)
    return Unsupported{fmt::format("onednn has no fp64 {} ({})", noun, request)};
  const int threads = set_threads(engine, options);
  try {
    return std::make_unique<Own>(problem, layout == "nchw" ? "nchw" : "nhwc", engine, threads);
  } catch (const dnnl::error& error) {
    return refusal(error, fmt::format("a {} ({}, ", noun, request), request);
  }
}

}  // namespace assay::onednn
