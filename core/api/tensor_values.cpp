#include "core/api/tensor_values.hpp"

#include <algorithm>
#include <stdexcept>

namespace assay {
namespace {

template <class T>
void copy(const std::vector<T>& from, std::int64_t first, std::span<double> out) {
  if (first < 0 || static_cast<std::size_t>(first) + out.size() > from.size())
    throw std::out_of_range("a tensor ends before these elements");
  std::copy_n(from.begin() + first, out.size(), out.begin());
}

}  // namespace

TensorValues::TensorValues(Device& device, Tensor& tensor, bool read_now)
    : device_(device), tensor_(tensor), read_now_(read_now) {
  if (read_now) std::call_once(once_, [this] { read(); });
}

void TensorValues::fill(std::int64_t first, std::span<double> out) const {
  std::call_once(once_, [this] { read(); });
  return wide_.empty() ? copy(narrow_, first, out) : copy(wide_, first, out);
}

void TensorValues::read() const {
  const bool wide = is_integer(type()) || type() == DataType::fp64;
  const auto elements = static_cast<std::size_t>(tensor_.spec().elements());
  if (wide)
    wide_.resize(elements);
  else
    narrow_.resize(elements);
  device_.get(tensor_, [&](std::int64_t first, std::span<const double> part) {
    if (wide)
      std::copy(part.begin(), part.end(), wide_.begin() + first);
    else
      std::transform(part.begin(), part.end(), narrow_.begin() + first,
                     [](double value) { return static_cast<float>(value); });
  });
}

}  // namespace assay
