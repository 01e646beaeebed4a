#pragma once
// The tensors of an operation: one set of them, or as many sets as a cold measurement rotates
// through.

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

/// Owns the tensors. All sets share the workspaces, as successive calls of an application do.
class BufferSets {
 public:
  /// Allocates one set of tensors, or with `cold` the smallest number of sets that together exceed
  /// twice the device's largest cache, so that a set has left the cache before it is used again,
  /// whatever the replacement policy. `ranks_here`: number of ranks that share the host's memory.
  /// Memory is checked first: throws CaseError, with what is needed and what is available, if all
  /// sets, the workspaces and the plain copy of a layout conversion do not fit. Also throws
  /// CaseError if `cold` needs more than 65536 sets or the size of the cache is unknown.
  BufferSets(Device& device, std::vector<TensorSpec> specs, bool cold, int ranks_here);

  /// Number of sets.
  std::size_t count() const { return sets_.size(); }
  const std::vector<TensorSpec>& specs() const { return specs_; }
  /// The tensors of one set in the order of specs(), as Operation::bind takes them.
  std::span<Tensor* const> set(std::size_t index) const { return sets_[index]; }
  Tensor& tensor(std::size_t set, std::size_t argument) const { return *sets_[set][argument]; }
  Device& device() const { return device_; }

  /// Fills the outputs of a set (Role::output) with poison(), a value that no result has.
  void poison(std::size_t set) const;

 private:
  Device& device_;
  std::vector<TensorSpec> specs_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::vector<Tensor*>> sets_;
};

}  // namespace assay
