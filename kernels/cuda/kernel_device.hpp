#pragma once
// The GPU with our kernels: it makes inputs and reads outputs itself, so that no tensor crosses to
// the host as a whole. Where its kernels cannot run, or a tensor has a layout that they do not
// know, the host does (Device's defaults). Kernels are believed of a type of elements after they
// have made and found what the host does, in every process.

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "kernels/cuda/cudnn.hpp"

namespace assay::cuda {

class KernelDevice final : public CudnnDevice {
 public:
  void fill(Tensor& tensor, const Values& values) override;
  void fill(Tensor& tensor, double value) override;
  Scanned scan(Tensor& tensor, std::span<const std::int64_t> indices,
               const ChecksumWeights* weights) override;

 private:
  /// Whether kernels know the tensor's layout; `weights` are those of its dimensions, or null.
  bool knows(const TensorSpec& spec, const ChecksumWeights* weights = nullptr) const;
  /// Makes and reads a small tensor of the type, at the first call. CaseError if the host finds
  /// other elements in it, or tells other things of it.
  void prove(DataType type);
  void make(Tensor& tensor, const Values& values);
  void set_all(Tensor& tensor, double value);
  Scanned read(Tensor& tensor, std::span<const std::int64_t> indices,
               const ChecksumWeights* weights);
  void clear_padding(Tensor& tensor);
  template <class Item>
  void start(const Item& item, std::int64_t count, const TensorSpec& spec);
  /// Memory that the next call overwrites.
  std::byte* scratch(std::size_t bytes);
  void upload(std::byte* to, const std::vector<std::byte>& from);
  /// work() on elements of the type, unless kernels cannot be launched: returns false then.
  template <class Work>
  bool by_kernels(DataType type, const Work& work);

  bool launches_ = true;  ///< none has been refused
  std::set<DataType> proved_;
  std::shared_ptr<void> scratch_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace assay::cuda
