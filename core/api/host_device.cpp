#include "core/api/host_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "core/api/layout.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/energy.hpp"
#include "core/machine/environment.hpp"

namespace assay {
namespace {

// 8192 fp64 values are 64 KiB: a block stays in the second-level cache between source, conversion
// and tensor.
constexpr std::int64_t block = 8192;

/// `bytes` is a multiple of the alignment; null where the system refuses.
std::shared_ptr<void> ordinary_memory(std::size_t bytes) {
  return {std::aligned_alloc(64, bytes), &std::free};
}

std::size_t in_whole_lines(std::size_t bytes) {
  return std::max<std::size_t>((bytes + 63) / 64 * 64, 64);
}

CaseError refused(std::size_t bytes, const std::string& what) {
  return CaseError(
      fmt::format("cannot allocate {} bytes for '{}' (the system refused). Use a smaller problem.",
                  bytes, what));
}

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
    const std::size_t bytes = in_whole_lines(spec_.bytes);
    data_ = spec.memory ? spec.memory(bytes) : ordinary_memory(bytes);
    if (data_ == nullptr) throw refused(bytes, spec.name);
  }
  const TensorSpec& spec() const override { return spec_; }
  void* data() override { return data_.get(); }

 private:
  TensorSpec spec_;
  std::shared_ptr<void> data_;
};

}  // namespace

void* native_handle(Stream& stream, std::string_view type) {
  const NativeHandle native = stream.native();
  if (native.type != type)
    throw CaseError(fmt::format(
        "the stream is {}, not a {} (it belongs to another device). Use a device of this backend.",
        native.type.empty() ? "of the host" : fmt::format("a {}", native.type), type));
  return native.handle;
}

void Device::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

Result<EnergyMeter*> Device::energy_meter() {
  if (name() != "cpu") return Unsupported{"nothing counts the energy of a " + name()};
  static const Result<std::unique_ptr<EnergyMeter>> packages = package_energy();
  if (const auto* const refusal = std::get_if<Unsupported>(&packages)) return *refusal;
  return std::get<std::unique_ptr<EnergyMeter>>(packages).get();
}

std::shared_ptr<void> Device::host_memory(std::size_t bytes) {
  std::shared_ptr<void> memory = ordinary_memory(in_whole_lines(bytes));
  if (memory == nullptr) throw refused(bytes, "host memory");
  return memory;
}

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
  // Static schedule: pages are first touched by the thread whose part of a statically scheduled
  // kernel they are.
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

}  // namespace assay
