#pragma once
// Tables of SIMD functions for tensors of each floating-point type.

#include <type_traits>

#include "core/api/precision.hpp"

namespace assay {

/// One table for each type in which tensors are stored. The functions of a Table<Value> compute in
/// Value: float for fp32, bf16 and fp16 tensors, double for fp64 tensors.
template <template <class Value> class Table>
struct StorageTables {
  Table<float> fp32, bf16, fp16;
  Table<double> fp64;

  /// The table for tensors of type `stored`, whose functions compute in Value.
  template <class Value>
  const Table<Value>& table([[maybe_unused]] DataType stored) const {
    if constexpr (std::is_same_v<Value, double>) {
      return fp64;
    } else {
      if (stored == DataType::bf16) return bf16;
      return stored == DataType::fp16 ? fp16 : fp32;
    }
  }
};

}  // namespace assay
