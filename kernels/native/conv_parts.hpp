#pragma once
// The common part of native convolutions: layouts of activations and weights, scratch memory, and
// matrix products of whole blocks.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/api/layout.hpp"
#include "core/api/operation.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/native/conv_simd.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {

inline std::ptrdiff_t count_blocks(std::ptrdiff_t count, std::ptrdiff_t block) {
  return (count + block - 1) / block;
}
inline std::ptrdiff_t pad(std::ptrdiff_t count, std::ptrdiff_t block) {
  return count_blocks(count, block) * block;
}

/// Layout of activations [image, channel, row, column] of one group or of all. Channels are
/// innermost: either blocks of 16, each with a plane of pixels (nChw16c), or all of a pixel (nhwc).
struct Activations {
  DataType type = DataType::fp32;
  bool blocked = true;
  std::ptrdiff_t channels = 0;  ///< of one group
  std::ptrdiff_t height = 0, width = 0;
  /// Distances from one to the next, in elements.
  std::ptrdiff_t image = 0, group = 0, block = 0, row = 0, pixel = 0;

  /// Number of channels in block `at` of a group that are loaded or stored; in nChw16c including
  /// the padding.
  std::ptrdiff_t count(std::ptrdiff_t at) const {
    return blocked ? channel_block : std::min(channel_block, channels - at * channel_block);
  }
  std::ptrdiff_t offset(std::ptrdiff_t n, std::ptrdiff_t g, std::ptrdiff_t at) const {
    return n * image + g * group + at * block;
  }
};

/// Chooses the layout of a spec's activations: nChw16c if `blocked`, except for few channels;
/// otherwise nhwc. Sets the spec's layout and bytes.
Activations lay_out_activations(TensorSpec& spec, std::int64_t groups, bool blocked);

/// Layout of weights as panels of columns: [group][panel][row block][tap][16 rows][width]. Products
/// are summed over the rows (their input channels); each column is an output channel.
struct Panels {
  std::ptrdiff_t rows = 0, columns = 0, taps = 0, width = 0;

  std::ptrdiff_t row_blocks() const { return count_blocks(rows, channel_block); }
  std::ptrdiff_t panels() const { return count_blocks(columns, width); }
  /// Elements of one block of rows with all taps, of one panel, of one group.
  std::ptrdiff_t block() const { return taps * channel_block * width; }
  std::ptrdiff_t panel() const { return row_blocks() * block(); }
  std::ptrdiff_t group() const { return panels() * panel(); }
  /// Blocks of 16 columns in panel `at`.
  std::ptrdiff_t column_blocks(std::ptrdiff_t at) const {
    return count_blocks(std::min(width, columns - at * width), channel_block);
  }
};

/// Lays out weights [group, oc, ic, kh, kw] as panels: rows are ic and columns oc, or the other way
/// round.
void lay_out_weights(TensorSpec& spec, const Panels& panels, bool rows_are_ic);

/// Divides one workspace into parts, each of which begins at a cache line.
class Scratch {
 public:
  /// Reserves floats; returns the part's offset in floats.
  std::ptrdiff_t reserve(std::ptrdiff_t floats) {
    const std::ptrdiff_t at = size_;
    size_ += pad(floats, 16);
    return at;
  }
  std::ptrdiff_t floats() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(float); }

 private:
  std::ptrdiff_t size_ = 0;
};

/// The most floats of a workspace: twice the number of elements of all tensors, whatever their
/// type.
std::ptrdiff_t workspace_limit(const ConvProblem& problem);

/// A queue of the parts of the work. Each thread takes the next part when it is free, and has its
/// own memory.
class WorkQueue {
 public:
  /// Reserves `each` floats for each thread that computes: as many threads as there are parts, at
  /// most `threads`, but, beyond the first one, only as many as keep the scratch within `most`
  /// floats. (So small a problem needs no more threads.)
  void plan(Scratch& scratch, std::ptrdiff_t threads, std::ptrdiff_t parts, std::ptrdiff_t each,
            std::ptrdiff_t most) {
    parts_ = parts;
    const std::ptrdiff_t owners = std::min(threads, parts);
    while (static_cast<std::ptrdiff_t>(own_.size()) < owners &&
           (own_.empty() || scratch.floats() + pad(each, 16) <= most))
      own_.push_back(scratch.reserve(each));
  }
  /// Called once, before the threads begin.
  void begin() { taken_ = next_ = 0; }
  /// Number of threads that compute.
  double owners() const { return static_cast<double>(own_.size()); }
  /// Each thread calls this. It calls body(part, own memory) for the parts that this thread takes.
  /// Threads do not wait for each other.
  template <class Body>
  void each(float* scratch, Body body) {
    // If there is memory for all threads, each one keeps the same memory, which the caches of its
    // core may still hold.
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

/// The destination of a matrix product: row r of block j of 16 columns is at to[r*row + j*block].
struct Destination {
  float* to;
  std::ptrdiff_t row, block;
};

/// Computes a matrix product of rows x (16 * column_blocks) by register blocks. `kernels`: one of
/// the table's arrays of kernels; `a_row`: the distance between the rows of a that it expects.
void multiply(const GemmTable& table, const GemmKernel (*kernels)[2], std::ptrdiff_t a_row,
              const float* a, const float* b, const Segment* segments, std::ptrdiff_t count,
              std::ptrdiff_t rows, std::ptrdiff_t column_blocks, const Destination& c, bool add);

/// The address of element `at` of an untyped tensor.
inline const void* element(const void* base, DataType type, std::ptrdiff_t at) {
  return static_cast<const std::byte*>(base) + at * static_cast<std::ptrdiff_t>(size_of(type));
}
inline void* element(void* base, DataType type, std::ptrdiff_t at) {
  return static_cast<std::byte*>(base) + at * static_cast<std::ptrdiff_t>(size_of(type));
}

/// Converts `count` packed elements (a multiple of 16) to fp32. The threads of the enclosing
/// parallel region share the work.
void widen_shared(const GemmTable& table, DataType type, const void* from, float* to,
                  std::ptrdiff_t count);

/// The arguments of the functions below that create algorithms: a problem that native supports, its
/// layout, and the number of threads.
struct Request {
  ConvProblem problem;
  bool blocked;  ///< nChw16c, else nhwc
  int threads;
};

/// The base of the algorithms. Their tensors are those of the problem, and a workspace.
class ConvOperation : public BoundOperation {
 protected:
  explicit ConvOperation(const Request& request)
      : BoundOperation(request.problem.tensors()),
        table_(gemm_table()),
        threads_(request.threads) {}
  float* scratch() const { return data<float>(3); }

  const GemmTable& table_;
  int threads_;
};

/// The part of `executed` that is common to all algorithms: storage, arithmetic, layout, workspace
/// and threads.
Execution describe(const Request& request, const std::string& algorithm,
                   std::size_t workspace_bytes, const WorkQueue& queue,
                   const std::string& weights_layout);

Result<std::unique_ptr<Operation>> make_implicit_gemm(const Request& request);
Result<std::unique_ptr<Operation>> make_implicit_gemm_weights(const Request& request);
/// `tile`: 2 or 4. `narrow`: transformed operands are stored in the tensors' 16-bit type, as GPU
/// libraries do, otherwise in fp32. Unsupported if Winograd does not support the problem.
Result<std::unique_ptr<Operation>> make_winograd(const Request& request, int tile, bool narrow);
/// The same convolution on plain weights. Every run first packs the weights, or finally unpacks
/// their gradients.
std::unique_ptr<Operation> on_plain_weights(std::unique_ptr<Operation> convolution,
                                            const Request& request);
/// Why Winograd does not support the problem; empty if it does.
std::string why_not_winograd(const ConvProblem& problem);

}  // namespace assay::native
