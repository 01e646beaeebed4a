#pragma once
// What an operation asks for and a device gives: named, typed, shaped memory.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/precision.hpp"

namespace assay {

struct Layout;  // core/api/layout.hpp

enum class Role {
  input,   ///< read by run
  output,  ///< written whole by run
  inout,   ///< read and written (an in-place sum): refilled, untimed, before each timed iteration
  unmodified,  ///< read, and checked to be as it was (the root's part of a broadcast)
  workspace,   ///< scratch: never filled nor verified; counted in workspace_bytes
  saved,  ///< what a forward pass writes for its backward pass: never filled nor verified; one for
          ///< each set of tensors, as inputs are
  consumed,  ///< saved, but overwritten by run: the prologue makes it again before each run
};

/// One argument of an operation. `dims` are logical, outermost first, and are all that models and
/// verification see.
struct TensorSpec {
  std::string name;  ///< "src", "weights", "dst": names the data stream too
  Role role = Role::input;
  DataType type = DataType::fp32;
  std::vector<std::int64_t> dims;  ///< row-major element order; {} for workspace and saved
  std::size_t bytes = 0;           ///< memory that it needs (padding included)
  /// Where the elements lie: operations of several backends can use one tensor where their layouts
  /// of it are the same. Null for row-major order.
  std::shared_ptr<const Layout> layout;
  /// A layout that Layout cannot describe, in the backend's own words: only the backend's device
  /// allocates and converts the tensor, and only its operations use it.
  std::shared_ptr<const void> opaque{};
  /// Gives its memory, on a host aligned to 64 bytes; empty: ordinary memory of the device.
  std::function<std::shared_ptr<void>(std::size_t bytes)> memory{};

  /// Number of logical elements (product of dims).
  std::int64_t elements() const;
};

/// A tensor in row-major order without padding.
TensorSpec plain_tensor(std::string name, Role role, DataType type, std::vector<std::int64_t> dims);

/// Memory of one argument on a device; freed by its destructor.
class Tensor {
 public:
  virtual ~Tensor() = default;
  virtual const TensorSpec& spec() const = 0;
  /// Backend's pointer: host memory for host devices, device memory for others.
  virtual void* data() = 0;
};

/// Writes elements [first, first + values.size()) of the logical row-major order into `values`.
/// Called from several threads.
using Source = std::function<void(std::int64_t first, std::span<double> values)>;
/// Is shown elements [first, first + values.size()) in logical row-major order; calls come in
/// order, from one thread.
using Sink = std::function<void(std::int64_t first, std::span<const double> values)>;

}  // namespace assay
