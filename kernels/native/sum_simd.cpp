// The sum of two arrays.

#include "kernels/native/sum_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/sum_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "support/simd/formats.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using assay::HWY_NAMESPACE::Bf16;
using assay::HWY_NAMESPACE::Fp16;
using assay::HWY_NAMESPACE::Plain;

template <class Format>
struct Sum {
  using Stored = typename Format::Stored;
  static void run(const void* a, const void* b, std::ptrdiff_t count, void* to) {
    const auto* const left = static_cast<const Stored*>(a);
    const auto* const right = static_cast<const Stored*>(b);
    auto* const out = static_cast<Stored*>(to);
    using Value = typename Format::Value;
    assay::HWY_NAMESPACE::each_vector<Value>(count, [&](auto d, std::ptrdiff_t i) HWY_ATTR {
      const auto sum = hn::Add(Format::load(d, left + i), Format::load(d, right + i));
      assay::HWY_NAMESPACE::store(Format(), sum, d, out + i);
    });
  }
  static const SumTable* table() {
    static const SumTable all{hwy::TargetName(HWY_TARGET), &run};
    return &all;
  }
};

}  // namespace

const SumTable* find_sum_table(DataType type) {
  if (type == DataType::fp64) return Sum<Plain<double>>::table();
  if (type == DataType::bf16) return Sum<Bf16>::table();
  if (type == DataType::fp16) return Sum<Fp16>::table();
  return Sum<Plain<float>>::table();
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(find_sum_table);
const SumTable& sum_table(DataType type) { return *HWY_DYNAMIC_DISPATCH(find_sum_table)(type); }
}  // namespace assay::native
#endif
