#pragma once
// The makers of primitives on activations, in the layout that is asked for.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "kernels/onednn/backend.hpp"
#include "kernels/onednn/device.hpp"

namespace assay::onednn {

/// Own on "nchw" or, where any layout will do, on "nhwc". `noun`: "pooling".
template <class P, class Own>
Result<std::unique_ptr<Operation>> make_in_layout(Device& device, const Problem& what,
                                                  const Options& options, const char* noun) {
  const P& problem = problem_cast<P>(what);
  const dnnl::engine& engine = static_cast<OneDnnDevice&>(device).engine();
  const std::string algorithm = options.get("algorithm", "auto"),
                    layout = options.get("layout", "any"),
                    request = fmt::format("{} {} {}", name(problem.precision()),
                                          name(problem.direction()), problem.canonical());
  if (algorithm != "auto" && algorithm != "direct")
    return Unsupported{
        fmt::format("onednn has no algorithm {} for {}. Use auto.", algorithm, problem.kind())};
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
