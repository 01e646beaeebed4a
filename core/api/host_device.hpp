#pragma once
// The device of backends that compute on the host's processor: host memory and the monotonic clock.

#include "core/api/backend.hpp"
#include "core/api/device.hpp"

namespace assay {

/// Work runs at the call, so a mark is a reading of the monotonic clock.
class HostStream final : public Stream {
 public:
  void mark(int which) override;
  void wait() override {}
  double seconds(int from, int to) const override;

 private:
  double marks_[16] = {};
};

/// Tensors are aligned to 64 bytes, in row-major order or in a Layout. allocate() throws
/// std::logic_error for opaque layouts.
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
  std::optional<DeviceHealth> health() override { return host_health(); }

 private:
  HostStream stream_;
  double reorder_seconds_ = 0;
};

/// A backend that computes on the processor alone. A derived class adds its name and software.
class HostBackend : public MakerBackend {
 public:
  using MakerBackend::MakerBackend;
  Result<Device*> device(const Options& options) override;

 private:
  HostDevice device_;
};

/// Host memory of whole cache lines, `from` or aligned to 64 bytes. CaseError, with `what` it was
/// for, where the system refuses.
std::shared_ptr<void> memory_of_host(
    std::size_t bytes, const std::string& what,
    const std::function<std::shared_ptr<void>(std::size_t bytes)>& from = {});

/// Writes `elements` consecutive elements of `type` to `data`: block by block, several threads at a
/// time. Serves the put() of host devices.
void fill_packed(DataType type, std::int64_t elements, void* data, const Source& source);
/// Passes consecutive elements to a sink, block by block, in order. Serves the get() of host
/// devices.
void show_packed(DataType type, std::int64_t elements, const void* data, const Sink& sink);

}  // namespace assay
