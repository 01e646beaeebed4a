#include "core/measure/buffer_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/measure/checker.hpp"

namespace assay {
namespace {

constexpr double most_sets = 65536;  // more would time page tables, not the operation

double plain_bytes(const TensorSpec& spec) {
  double bytes = static_cast<double>(size_of(spec.type));
  for (const std::int64_t extent : spec.dims) bytes *= static_cast<double>(extent);
  return bytes;
}

std::string format_memory(double bytes) {
  if (bytes < 1024.0 * 1024 * 1024) return fmt::format("{:.1f} MiB", bytes / (1024.0 * 1024));
  return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024 * 1024));
}

/// Bytes of one set of arguments, of memory that all sets share, and of the row-major copy that put
/// and get may make.
struct Need {
  double set = 0, workspace = 0, staging = 0;
};

Need compute_need(const std::vector<TensorSpec>& specs) {
  Need need;
  for (const TensorSpec& spec : specs) {
    if (spec.role == Role::workspace) {
      need.workspace += static_cast<double>(spec.bytes);
      continue;
    }
    need.set += std::max(static_cast<double>(spec.bytes), plain_bytes(spec));
    need.staging = std::max(need.staging, plain_bytes(spec));
  }
  return need;
}

std::size_t sets_needed(const Need& need, std::size_t cache) {
  if (cache == 0) {
    throw CaseError(
        "cannot run cold (the size of the largest cache of this device is unknown). Use --cache "
        "hot.");
  }
  const double sets =
      std::max(2.0, std::floor(2 * static_cast<double>(cache) / std::max(need.set, 1.0)) + 1);
  if (sets > most_sets) {
    throw CaseError(
        fmt::format("cannot run cold ({:.0f} sets of buffers of {:.0f} bytes would be needed to "
                    "exceed twice the cache of {}). Use --cache hot or a larger problem.",
                    sets, need.set, format_memory(static_cast<double>(cache))));
  }
  return static_cast<std::size_t>(sets);
}

void refuse_too_large(const Need& need, std::size_t count, double available, bool cold) {
  const double tensors = need.set * static_cast<double>(count);
  const double total = tensors + need.staging + need.workspace;
  if (total <= available) return;
  throw CaseError(fmt::format(
      "needs {} ({} tensors in {} {}, {} for one plain copy, {} workspace) but {} are available. "
      "Use a smaller problem{}.",
      format_memory(total), format_memory(tensors), count, count == 1 ? "set" : "sets",
      format_memory(need.staging), format_memory(need.workspace), format_memory(available),
      cold ? " or --cache hot" : ""));
}

}  // namespace

BufferSets::BufferSets(Device& device, std::vector<TensorSpec> specs, bool cold, int ranks_here)
    : device_(device), specs_(std::move(specs)) {
  Need need = compute_need(specs_);
  // On other devices parts of a tensor are moved and compared at a time.
  constexpr double most_staging = 96.0 * 1024 * 1024;
  if (device_.name() != "cpu") need.staging = std::min(need.staging, most_staging);
  const std::size_t count = cold ? sets_needed(need, device_.cache_bytes()) : 1;
  // All ranks of a host allocate the same at the same time, so each gets its share of the available
  // memory.
  refuse_too_large(need, count, static_cast<double>(device_.memory_available()) / ranks_here, cold);
  sets_.resize(count);
  for (std::size_t set = 0; set < count; ++set) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].role == Role::workspace && set > 0) {
        sets_[set].push_back(sets_[0][i]);
        continue;
      }
      tensors_.push_back(device_.allocate(specs_[i]));
      sets_[set].push_back(tensors_.back().get());
    }
  }
}

void BufferSets::poison(std::size_t set) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].role != Role::output) continue;
    device_.fill(*sets_[set][i], assay::poison(specs_[i].type));
  }
}

}  // namespace assay
