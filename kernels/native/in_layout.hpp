#pragma once
// The makers of operations on activations in either layout, nchw or nhwc.

#include <memory>
#include <utility>

#include "kernels/native/parts.hpp"

namespace assay::native {

/// Calls make(problem, whether channels are innermost, threads) if `direct` supports the problem.
/// The layout "any" is nhwc.
template <class P, class Make>
Result<std::unique_ptr<Operation>> make_in_layout(const Problem& what, const Options& options,
                                                  const Make& make) {
  const P& problem = problem_cast<P>(what);
  const bool planes = options.get("layout", "any") == "nchw";
  Options others = options;
  if (planes) others.settings.erase("layout");
  if (auto why = why_not_direct(problem, others)) return Unsupported{std::move(*why)};
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  return make(problem, !planes, std::max(1, options.threads));
}

}  // namespace assay::native
