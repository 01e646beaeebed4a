#include "core/api/host_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <vector>

#include "core/api/layout.hpp"
#include "core/base/clock.hpp"
#include "core/machine/environment.hpp"

namespace assay {
namespace {

// 8192 fp64 values are 64 KiB: a block stays in the second-level cache between source, conversion
// and tensor.
constexpr std::int64_t block = 8192;

std::size_t packed_bytes(const TensorSpec& spec) {
  return static_cast<std::size_t>(spec.elements()) * size_of(spec.type);
}

std::size_t placed_bytes(const TensorSpec& spec) {
  return spec.layout ? static_cast<std::size_t>(spec.layout->elements) * size_of(spec.type)
                     : packed_bytes(spec);
}

class HostTensor final : public Tensor {
 public:
  explicit HostTensor(const TensorSpec& spec) : spec_(spec) {
    if (spec.role != Role::workspace) spec_.bytes = std::max(spec.bytes, placed_bytes(spec));
    data_ = memory_of_host(spec_.bytes, spec.name, spec.memory);
  }
  const TensorSpec& spec() const override { return spec_; }
  void* data() override { return data_.get(); }

 private:
  TensorSpec spec_;
  std::shared_ptr<void> data_;
};

}  // namespace

void HostStream::mark(int which) {
  // Seconds since the first reading, not since boot: a double then resolves nanoseconds after a
  // year of uptime, too.
  static const auto start = std::chrono::steady_clock::now();
  marks_[which & 15] = seconds_since(start);
}

double HostStream::seconds(int from, int to) const { return marks_[to & 15] - marks_[from & 15]; }

std::unique_ptr<Tensor> HostDevice::allocate(const TensorSpec& spec) {
  if (spec.opaque) throw std::logic_error("an opaque tensor on the host's device: " + spec.name);
  return std::make_unique<HostTensor>(spec);
}

void HostDevice::put(Tensor& tensor, const Source& source) {
  const TensorSpec& spec = tensor.spec();
  if (!spec.layout) return fill_packed(spec.type, spec.elements(), tensor.data(), source);
  const auto packed = host_memory(packed_bytes(spec));
  fill_packed(spec.type, spec.elements(), packed.get(), source);
  const auto start = std::chrono::steady_clock::now();
  place(spec, *spec.layout, packed.get(), tensor.data());
  reorder_seconds_ += seconds_since(start);
}

void HostDevice::get(Tensor& tensor, const Sink& sink) {
  const TensorSpec& spec = tensor.spec();
  if (!spec.layout) return show_packed(spec.type, spec.elements(), tensor.data(), sink);
  const auto packed = host_memory(packed_bytes(spec));
  const auto start = std::chrono::steady_clock::now();
  pack(spec, *spec.layout, tensor.data(), packed.get());
  reorder_seconds_ += seconds_since(start);
  show_packed(spec.type, spec.elements(), packed.get(), sink);
}

std::size_t HostDevice::memory_available() const { return assay::memory_available(); }
std::size_t HostDevice::cache_bytes() const { return assay::cache_bytes(); }

void fill_packed(DataType type, std::int64_t elements, void* data, const Source& source) {
  const std::int64_t blocks = (elements + block - 1) / block;
  const std::size_t size = size_of(type);
  std::exception_ptr failure;  // an exception must not leave a parallel region
  // Static schedule: the thread that uses pages in a statically scheduled kernel is the first to
  // touch them.
#pragma omp parallel if (blocks > 4)
  {
    std::vector<double> values(static_cast<std::size_t>(std::min(block, elements)));
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < blocks; ++i) {
      try {
        const std::int64_t first = i * block;
        const std::span<double> part(values.data(),
                                     static_cast<std::size_t>(std::min(block, elements - first)));
        source(first, part);
        encode(type, part, static_cast<std::byte*>(data) + static_cast<std::size_t>(first) * size);
      } catch (...) {
#pragma omp critical(assay_fill_failure)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void show_packed(DataType type, std::int64_t elements, const void* data, const Sink& sink) {
  std::vector<double> values(static_cast<std::size_t>(std::min(block, elements)));
  const std::size_t size = size_of(type);
  for (std::int64_t first = 0; first < elements; first += block) {
    const std::span<double> part(values.data(),
                                 static_cast<std::size_t>(std::min(block, elements - first)));
    decode(type, static_cast<const std::byte*>(data) + static_cast<std::size_t>(first) * size,
           part);
    sink(first, part);
  }
}

Result<Device*> HostBackend::device(const Options& options) {
  const std::string device_name = options.get("device", "cpu");
  if (device_name != "cpu")
    return Unsupported{fmt::format("{} has no device '{}' (it computes on the processor). Use cpu.",
                                   name(), device_name)};
  return &device_;
}

}  // namespace assay
