#pragma once
// The reference of a sum as code of one thread, on the host or on a device (core/api/formula.hpp).

#include "core/api/expected.hpp"

namespace assay::sum {

struct Dst {
  static constexpr const char* name = "sum dst";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    return {in(0, i) + in(1, i), 0, 0};
  }
};

}  // namespace assay::sum
