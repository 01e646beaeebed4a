#include "core/api/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/api/host_device.hpp"
#include "core/api/scan.hpp"
#include "core/base/error.hpp"
#include "core/machine/energy.hpp"

namespace assay {

std::shared_ptr<void> memory_of_host(
    std::size_t bytes, const std::string& what,
    const std::function<std::shared_ptr<void>(std::size_t bytes)>& from) {
  const std::size_t whole = std::max<std::size_t>((bytes + 63) / 64 * 64, 64);
  std::shared_ptr<void> memory =
      from ? from(whole) : std::shared_ptr<void>(std::aligned_alloc(64, whole), &std::free);
  if (memory == nullptr)
    throw CaseError(fmt::format(
        "cannot allocate {} bytes for '{}' (the system refused). Use a smaller problem.", whole,
        what));
  return memory;
}

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
  static const Result<std::unique_ptr<EnergyMeter>> packages = open_package_energy();
  if (const auto* const refusal = std::get_if<Unsupported>(&packages)) return *refusal;
  return std::get<std::unique_ptr<EnergyMeter>>(packages).get();
}

std::shared_ptr<void> Device::host_memory(std::size_t bytes) {
  return memory_of_host(bytes, "host memory");
}

void Device::fill(Tensor& tensor, const Values& values) {
  put(tensor, [&values](std::int64_t first, std::span<double> out) { values.fill(first, out); });
}

void Device::fill(Tensor& tensor, double value) {
  put(tensor, [value](std::int64_t, std::span<double> out) { std::ranges::fill(out, value); });
}

ScanResult Device::scan(Tensor& tensor, std::span<const std::int64_t> indices,
                        const ChecksumWeights* weights) {
  Scan scanner(tensor.spec().type, indices, weights);
  get(tensor, std::ref(scanner));
  return scanner.take();
}

}  // namespace assay
