#pragma once
// Tensors. An operation describes the tensors that it needs (TensorSpec); a device allocates them.

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
  input,       ///< read
  output,      ///< written completely
  inout,       ///< read and overwritten (an in-place sum): refilled, untimed, before each iteration
  unmodified,  ///< read, and checked to be unchanged (the root's buffer of a broadcast)
  workspace,   ///< scratch memory: neither filled nor verified; counted in workspace_bytes
  saved,     ///< data that a forward pass saves for its backward pass: neither filled nor verified;
             ///< unlike a workspace, each set of tensors has its own
  consumed,  ///< saved, but overwritten by each run: the prologue writes it again before the next
};

/// Describes one argument of an operation. `dims` are logical: networks and verification depend on
/// them alone, not on the layout.
struct TensorSpec {
  std::string name;  ///< "src", "weights", "dst"; also the stream of its random values
  Role role = Role::input;
  DataType type = DataType::fp32;
  std::vector<std::int64_t> dims;  ///< outermost first, row-major; {} for workspace and saved
  std::size_t bytes = 0;           ///< size of its memory, padding included
  /// Positions of the elements; null: row-major order. Operations of several backends can share a
  /// tensor if they have the same layout of it.
  std::shared_ptr<const Layout> layout;
  /// A layout that Layout cannot describe, as an object of the backend. Only the backend's device
  /// allocates and converts the tensor, and only its operations use it.
  std::shared_ptr<const void> opaque{};
  /// Allocates the tensor's memory (on a host aligned to 64 bytes); empty: the device does.
  std::function<std::shared_ptr<void>(std::size_t bytes)> memory{};

  /// Number of logical elements (product of dims).
  std::int64_t elements() const;
};

/// The spec of a tensor in row-major order without padding.
TensorSpec plain_tensor(std::string name, Role role, DataType type, std::vector<std::int64_t> dims);
/// The spec of memory without elements: Role::workspace, saved or consumed.
TensorSpec bytes_tensor(std::string name, Role role, std::size_t bytes);

/// The memory of one argument on a device. The destructor frees it.
class Tensor {
 public:
  virtual ~Tensor() = default;
  virtual const TensorSpec& spec() const = 0;
  /// Address of the memory: of the host for host devices, of the device for others.
  virtual void* data() = 0;
};

/// A function that writes the values of elements [first, first + values.size()), in logical
/// row-major order, to `values`. It is called by several threads.
using Source = std::function<void(std::int64_t first, std::span<double> values)>;
/// A function that receives the values of elements [first, first + values.size()), in logical
/// row-major order. It is called in ascending order, by one thread.
using Sink = std::function<void(std::int64_t first, std::span<const double> values)>;

}  // namespace assay
