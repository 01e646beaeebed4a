#include "core/api/tensor_values.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "core/api/host_device.hpp"
#include "core/api/layout.hpp"

namespace assay {
namespace {

constexpr std::size_t small = 1 << 14;             // tensors up to this size are read at once
constexpr std::size_t few = 16, most_alone = 512;  // in one read, in all; 10 us each

/// Several threads compute references, but only one at a time may use a device.
std::mutex of_devices;

bool in_pieces(const TensorSpec& spec) { return spec.layout && !spec.layout->pieces.empty(); }

std::int64_t find_place(const TensorSpec& spec, std::int64_t i) {
  if (!spec.layout) return i;
  std::int64_t place = 0;
  for (std::size_t d = spec.dims.size(); d-- > 0; i /= spec.dims[d]) {
    const Split& split = spec.layout->splits[d];
    const std::int64_t at = i % spec.dims[d];
    place += at / split.block * split.outer + at % split.block * split.inner;
  }
  return place;
}

}  // namespace

TensorValues::TensorValues(Device& device, Tensor& tensor)
    : device_(device),
      type_(tensor.spec().type),
      elements_(static_cast<std::size_t>(tensor.spec().elements())) {
  TensorSpec spec = tensor.spec();
  if (device.prover() != nullptr && !spec.opaque && !in_pieces(spec) &&
      2 * spec.bytes < device.memory_available()) {
    spec.memory = nullptr;
    copy_ = device.allocate(spec);
    device.copy(copy_->data(), tensor.data(), spec.bytes);
  }
  if (!copy_ || elements_ <= small) read_all(tensor);
}

void TensorValues::read_all(Tensor& tensor) const {
  const bool wide = is_integer(type_) || type_ == DataType::fp64;
  if (wide)
    wide_.resize(elements_);
  else
    narrow_.resize(elements_);
  device_.get(tensor, [&](std::int64_t first, std::span<const double> part) {
    if (wide)
      std::copy(part.begin(), part.end(), wide_.begin() + first);
    else
      std::transform(part.begin(), part.end(), narrow_.begin() + first,
                     [](double value) { return static_cast<float>(value); });
  });
  on_host_.store(true, std::memory_order_release);
}

void TensorValues::read_few(std::int64_t first, std::span<double> out) const {
  const std::size_t size = size_of(type_);
  std::vector<std::byte> bytes(out.size() * size);
  const auto* const from = static_cast<const std::byte*>(copy_->data());
  for (std::size_t i = 0; i < out.size(); ++i)
    device_.copy(bytes.data() + i * size,
                 from + static_cast<std::size_t>(
                            find_place(copy_->spec(), first + static_cast<std::int64_t>(i))) *
                            size,
                 size);
  device_.stream().wait();
  decode(type_, bytes.data(), out);
}

void TensorValues::fill(std::int64_t first, std::span<double> out) const {
  if (first < 0 || static_cast<std::size_t>(first) + out.size() > elements_)
    throw std::out_of_range("a tensor ends before these elements");
  if (!on_host_.load(std::memory_order_acquire)) {
    const std::lock_guard one_at_a_time(of_devices);
    if (!on_host_.load(std::memory_order_relaxed)) {
      if (out.size() <= few && alone_ < most_alone) {
        alone_ += out.size();
        return read_few(first, out);
      }
      read_all(*copy_);
    }
  }
  if (wide_.empty())
    std::copy_n(narrow_.begin() + first, out.size(), out.begin());
  else
    std::copy_n(wide_.begin() + first, out.size(), out.begin());
}

}  // namespace assay
