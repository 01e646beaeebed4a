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

TensorValues::TensorValues(Device& device, Tensor& tensor) : type_(tensor.spec().type) {
  const bool wide = is_integer(type_) || type_ == DataType::fp64;
  const auto elements = static_cast<std::size_t>(tensor.spec().elements());
  if (wide)
    wide_.resize(elements);
  else
    narrow_.resize(elements);
  device.get(tensor, [&](std::int64_t first, std::span<const double> part) {
    if (wide)
      std::copy(part.begin(), part.end(), wide_.begin() + first);
    else
      std::transform(part.begin(), part.end(), narrow_.begin() + first,
                     [](double value) { return static_cast<float>(value); });
  });
}

void TensorValues::fill(std::int64_t first, std::span<double> out) const {
  return wide_.empty() ? copy(narrow_, first, out) : copy(wide_, first, out);
}

}  // namespace assay
