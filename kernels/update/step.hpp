#pragma once
// The factors of the update of one tensor's elements. nvcc reads this header, too.

#include "core/api/item_code.hpp"

namespace assay {

/// The loop over the elements. With h = of_gradient * gradient + of_weight * w:
///   momentum  v = keep v + h,                                             w = w - of_velocity v
///   moments   v = keep v + add h, s = keep_second s + add_second h^2,
///             r = of_first v / (of_root sqrt(s) + epsilon) + of_decay w,  w = w - of_velocity r
///   rmsprop   s as there, v = keep v + h / (sqrt(s) + epsilon),           w = w - of_velocity v
enum class UpdateLoop { momentum, moments, rmsprop };

template <class Value>
struct UpdateStep {
  Value keep, of_gradient, of_weight, of_velocity;
  Value add, keep_second, add_second, of_first, of_root, epsilon, of_decay;

  template <class Narrow>
  ASSAY_ITEM UpdateStep<Narrow> rounded() const {
    const auto to = [](Value factor) { return static_cast<Narrow>(factor); };
    return {to(keep),    to(of_gradient), to(of_weight),  to(of_velocity),
            to(add),     to(keep_second), to(add_second), to(of_first),
            to(of_root), to(epsilon),     to(of_decay)};
  }
};

}  // namespace assay
