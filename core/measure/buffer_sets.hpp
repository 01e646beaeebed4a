#pragma once
// The tensors of an operation, in one set or in as many as a cold rotation needs.

#include <memory>
#include <span>
#include <vector>

#include "core/api/device.hpp"

namespace assay {

inline bool is_output(const TensorSpec& spec) {
  return spec.role == Role::output || spec.role == Role::inout || spec.role == Role::unmodified;
}
inline bool is_input(const TensorSpec& spec) {
  return spec.role == Role::input || spec.role == Role::inout || spec.role == Role::unmodified;
}

/// Owns the tensors. All sets share the workspaces, as the calls of an application do.
class BufferSets {
 public:
  /// Allocates one set, or with `cold` the fewest sets that together exceed twice the device's
  /// largest cache: whatever its replacement policy, a set has then left it before its turn comes
  /// again. `ranks_here`: processes that share the host's memory. Adds up all sets, the plain copy
  /// that a layout conversion makes, and the workspaces, and throws CaseError with the need and
  /// what is available before anything is allocated; CaseError, too, where the cache is unknown or
  /// more than 65536 sets would be needed.
  BufferSets(Device& device, std::vector<TensorSpec> specs, bool cold, int ranks_here);

  std::size_t count() const { return sets_.size(); }
  const std::vector<TensorSpec>& specs() const { return specs_; }
  /// Tensors of one set in the order of the specs: what Operation::bind takes.
  std::span<Tensor* const> set(std::size_t index) const { return sets_[index]; }
  Tensor& tensor(std::size_t set, std::size_t argument) const { return *sets_[set][argument]; }
  Device& device() const { return device_; }

  /// Fills the outputs of a set (Role::output) with the value that no result has: poison().
  void poison(std::size_t set) const;

 private:
  Device& device_;
  std::vector<TensorSpec> specs_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::vector<Tensor*>> sets_;
};

}  // namespace assay
