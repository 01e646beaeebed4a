#pragma once
// The reference of a copy as code of one thread, on the host or on a device (core/api/formula.hpp).

#include "core/api/expected.hpp"

namespace assay {

struct CopiedElement {
  static constexpr const char* name = "copied element";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    return {in(0, i), 0, 0};
  }
};

}  // namespace assay
