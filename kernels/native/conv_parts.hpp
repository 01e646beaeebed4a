#pragma once
// What native convolutions share: where activations and weights lie, scratch memory, and products
// of whole blocks.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/layout.hpp"
#include "core/api/operation.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/native/conv_simd.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {

inline std::ptrdiff_t blocks_of(std::ptrdiff_t count, std::ptrdiff_t block) {
  return (count + block - 1) / block;
}
inline std::ptrdiff_t padded(std::ptrdiff_t count, std::ptrdiff_t block) {
  return blocks_of(count, block) * block;
}

/// Activations [image, channel, row, column] of one group or of all, channels innermost: in blocks
/// of 16 a plane (nChw16c), or all of a pixel together (nhwc). Distances are in elements.
struct Activations {
  DataType type = DataType::fp32;
  bool blocked = true;
  std::ptrdiff_t channels = 0;  ///< of one group
  std::ptrdiff_t height = 0, width = 0;
  std::ptrdiff_t image = 0, group = 0, block = 0, row = 0, pixel = 0;

  /// Channels to move in block `at` of a group: nChw16c moves its padding, too.
  std::ptrdiff_t count(std::ptrdiff_t at) const {
    return blocked ? channel_block : std::min(channel_block, channels - at * channel_block);
  }
  std::ptrdiff_t offset(std::ptrdiff_t n, std::ptrdiff_t g, std::ptrdiff_t at) const {
    return n * image + g * group + at * block;
  }
};

/// The activations that a spec describes, laid out as asked for (those of few channels as nhwc);
/// sets the spec's layout and bytes.
Activations lay_out_activations(TensorSpec& spec, std::int64_t groups, bool blocked);

/// Weights as panels of columns: [group][panel][row block][tap][16 rows][panel columns]. `rows` is
/// the reduction (input channels of the products), `columns` their outputs.
struct Panels {
  std::ptrdiff_t rows = 0, columns = 0, taps = 0, width = 0;

  std::ptrdiff_t row_blocks() const { return blocks_of(rows, channel_block); }
  std::ptrdiff_t panels() const { return blocks_of(columns, width); }
  /// Elements of one block of rows for all taps, of one panel, of one group.
  std::ptrdiff_t block() const { return taps * channel_block * width; }
  std::ptrdiff_t panel() const { return row_blocks() * block(); }
  std::ptrdiff_t group() const { return panels() * panel(); }
  /// Blocks of 16 columns in panel `at`.
  std::ptrdiff_t column_blocks(std::ptrdiff_t at) const {
    return blocks_of(std::min(width, columns - at * width), channel_block);
  }
};

/// Lays weights [group, oc, ic, kh, kw] out as panels whose rows are ic (columns oc), or the other
/// way round.
void lay_out_weights(TensorSpec& spec, const Panels& panels, bool rows_are_ic);

/// Parts of one workspace, each beginning with a cache line of its own.
class Scratch {
 public:
  /// Reserves floats; returns the part's offset in floats.
  std::ptrdiff_t reserve(std::ptrdiff_t floats) {
    const std::ptrdiff_t at = size_;
    size_ += padded(floats, 16);
    return at;
  }
  std::ptrdiff_t floats() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(float); }

 private:
  std::ptrdiff_t size_ = 0;
};

/// Floats that a workspace may have: twice the tensors, in fp32 whatever they are stored in.
std::ptrdiff_t workspace_limit(const ConvProblem& problem);

/// A queue of parts of work, which each thread takes as it becomes free, and memory for each
/// thread.
class WorkQueue {
 public:
  /// `each` floats for every thread, but for no more of them than there are parts, and, after the
  /// first, than keep the scratch within `most` floats: what is small needs no more threads.
  void plan(Scratch& scratch, std::ptrdiff_t threads, std::ptrdiff_t parts, std::ptrdiff_t each,
            std::ptrdiff_t most) {
    parts_ = parts;
    const std::ptrdiff_t owners = std::min(threads, parts);
    while (static_cast<std::ptrdiff_t>(own_.size()) < owners &&
           (own_.empty() || scratch.floats() + padded(each, 16) <= most))
      own_.push_back(scratch.reserve(each));
  }
  /// Called once, before the threads begin.
  void begin() { taken_ = next_ = 0; }
  /// Threads that compute.
  double owners() const { return static_cast<double>(own_.size()); }
  /// On each thread: body(part, own memory) for its parts. Threads do not wait for each other.
  template <class Body>
  void each(float* scratch, Body body) {
    // Where all have memory, each keeps its own, which its core's caches may still hold.
    const bool all = own_.size() >= static_cast<std::size_t>(omp_get_num_threads());
    const auto owner = static_cast<std::size_t>(all ? omp_get_thread_num() : taken_++);
    if (owner >= own_.size()) return;
    for (std::ptrdiff_t part; (part = next_++) < parts_;) body(part, scratch + own_[owner]);
  }

 private:
  std::ptrdiff_t parts_ = 0;
  std::vector<std::ptrdiff_t> own_;  ///< places in the workspace
  std::atomic<std::ptrdiff_t> taken_ = 0, next_ = 0;
};

/// Where a block of products goes: row r of 16-column block j to to[r*row + j*block].
struct Destination {
  float* to;
  std::ptrdiff_t row, block;
};

/// rows x (16 * column_blocks) products by register blocks; `kernels` is pixels or channels of the
/// table, `a_row` the distance of their rows.
void multiply(const GemmTable& table, const GemmKernel (*kernels)[2], std::ptrdiff_t a_row,
              const float* a, const float* b, const Segment* segments, std::ptrdiff_t count,
              std::ptrdiff_t rows, std::ptrdiff_t column_blocks, const Destination& c, bool add);

/// Pointer arithmetic on untyped tensors.
inline const void* element(const void* base, DataType type, std::ptrdiff_t at) {
  return static_cast<const std::byte*>(base) + at * static_cast<std::ptrdiff_t>(size_of(type));
}
inline void* element(void* base, DataType type, std::ptrdiff_t at) {
  return static_cast<std::byte*>(base) + at * static_cast<std::ptrdiff_t>(size_of(type));
}

/// fp32 copy of `count` (a multiple of 16) packed elements, by the threads of the enclosing
/// parallel region.
void widen_shared(const GemmTable& table, DataType type, const void* from, float* to,
                  std::ptrdiff_t count);

/// What the algorithms are given: a checked problem, its layout, and threads.
struct Request {
  ConvProblem problem;
  bool blocked;  ///< nChw16c, else nhwc
  int threads;
};

/// Storage, arithmetic, layout, workspace and threads: what is the same for all algorithms.
Executed describe(const Request& request, const std::string& algorithm, std::size_t workspace_bytes,
                  const WorkQueue& queue, const std::string& weights_layout);

Result<std::unique_ptr<Operation>> make_implicit_gemm(const Request& request);
Result<std::unique_ptr<Operation>> make_implicit_gemm_weights(const Request& request);
/// tile 2 or 4; Unsupported with the condition that fails. `narrow`: transformed operands are
/// stored in the tensors' 16 bits, as libraries for GPUs do it, else in fp32.
Result<std::unique_ptr<Operation>> make_winograd(const Request& request, int tile, bool narrow);
/// The convolution on plain weights, which it packs before, or unpacks after, in every run.
std::unique_ptr<Operation> on_plain_weights(std::unique_ptr<Operation> convolution,
                                            const Request& request);
/// Nothing where Winograd computes the problem, else the condition that fails.
std::string why_not_winograd(const ConvProblem& problem);

}  // namespace assay::native
