#include "kernels/native/parts.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

#include <fmt/format.h>

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace assay::native {

TensorSpec workspace(std::size_t bytes) {
  return bytes_tensor("workspace", Role::workspace, bytes);
}

std::shared_ptr<void> large_pages(std::size_t bytes) {
  constexpr std::size_t page = std::size_t{1} << 21, cache_line = 64;
  if (bytes < page) return {std::aligned_alloc(cache_line, bytes), &std::free};
  const std::size_t whole = (bytes + page - 1) / page * page;
  std::shared_ptr<void> memory(std::aligned_alloc(page, whole), &std::free);
#if defined(__linux__)
  // If this fails, pages are small, but the results are the same.
  if (memory != nullptr) madvise(memory.get(), whole, MADV_HUGEPAGE);
#endif
  return memory;
}

Execution make_direct_execution(Precision precision, std::string_view target,
                                std::string_view layout) {
  Execution execution;
  execution.algorithm = "direct";
  execution.implementation = fmt::format("highway {}", target);
  execution.storage = std::string(name(precision));
  execution.compute = execution.accumulate =
      std::string(name(precision == Precision::fp64 ? DataType::fp64 : DataType::fp32));
  execution.layout = std::string(layout);
  execution.evidence = "numerical";  // the error bounds of fp32 exclude arithmetic in tf32 or bf16
  return execution;
}

std::optional<std::string> why_not_direct(const Problem& problem, const Options& options) {
  const std::string layout = options.get("layout", "any");
  if (auto why = refuse_algorithm(options, "native", {"direct"}, problem.kind(), "it has direct"))
    return std::move(why->reason);
  if (layout != "any" && layout != "nhwc")
    return fmt::format(
        "native has no layout {} (channels are its innermost dimension). Use any or nhwc.", layout);
  return std::nullopt;
}

}  // namespace assay::native
