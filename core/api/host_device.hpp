#pragma once
// Host memory and the steady clock: the device of backends that compute on the processor.

#include "core/api/device.hpp"

namespace assay {

/// Work runs when it is called; a mark is a reading of the monotonic clock.
class HostStream final : public Stream {
 public:
  void mark(int which) override;
  void wait() override {}
  double seconds(int from, int to) const override;

 private:
  double marks_[16] = {};
};

/// 64-byte aligned tensors, row-major or in a Layout. std::logic_error for opaque ones.
class HostDevice final : public Device {
 public:
  std::string name() const override { return "cpu"; }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override;
  void put(Tensor& tensor, const Source& source) override;
  void get(Tensor& tensor, const Sink& sink) override;
  std::size_t memory_available() const override;
  std::size_t cache_bytes() const override;
  double reorder_seconds() const override { return reorder_seconds_; }

 private:
  HostStream stream_;
  double reorder_seconds_ = 0;
};

/// Fills packed elements of `type` at `data` from a source in blocks, in parallel; put() of every
/// host device is made of it.
void fill_packed(DataType type, std::int64_t elements, void* data, const Source& source);
/// Passes packed elements in order, in blocks, to a sink.
void show_packed(DataType type, std::int64_t elements, const void* data, const Sink& sink);

}  // namespace assay
