// Winograd's transforms with the points 0, 1, -1 (F(2x2, 3x3)), 2, -2 (F(4x4, 3x3)) and infinity:
// Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).

#include "kernels/native/conv_simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/conv_winograd_simd.cpp"
#include "support/simd/targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = HWY_CAPPED(float, 16);
using V = hn::Vec<D>;

HWY_INLINE V load_at(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE void store_at(V v, float* to) { hn::StoreU(v, D(), to); }
HWY_INLINE V times(V v, float factor) { return hn::Mul(v, hn::Set(D(), factor)); }
HWY_INLINE V plus_times(V v, float factor, V w) { return hn::MulAdd(v, hn::Set(D(), factor), w); }

// One dimension of each transform. It reads points `from` apart, and writes them `to` apart.
HWY_INLINE void input4(const float* in, std::ptrdiff_t from, float* out, std::ptrdiff_t to) {
  const V d0 = load_at(in), d1 = load_at(in + from), d2 = load_at(in + 2 * from),
          d3 = load_at(in + 3 * from), d4 = load_at(in + 4 * from), d5 = load_at(in + 5 * from);
  const V t0 = plus_times(d2, -4, d4), t1 = plus_times(d1, -4, d3), t2 = hn::Sub(d4, d2),
          t3 = times(hn::Sub(d3, d1), 2);
  store_at(plus_times(d0, 4, plus_times(d2, -5, d4)), out);
  store_at(hn::Add(t0, t1), out + to);
  store_at(hn::Sub(t0, t1), out + 2 * to);
  store_at(hn::Add(t2, t3), out + 3 * to);
  store_at(hn::Sub(t2, t3), out + 4 * to);
  store_at(plus_times(d1, 4, plus_times(d3, -5, d5)), out + 5 * to);
}

HWY_INLINE void input2(const float* in, std::ptrdiff_t from, float* out, std::ptrdiff_t to) {
  const V d0 = load_at(in), d1 = load_at(in + from), d2 = load_at(in + 2 * from),
          d3 = load_at(in + 3 * from);
  store_at(hn::Sub(d0, d2), out);
  store_at(hn::Add(d1, d2), out + to);
  store_at(hn::Sub(d2, d1), out + 2 * to);
  store_at(hn::Sub(d1, d3), out + 3 * to);
}

HWY_INLINE void filter4(const float* in, std::ptrdiff_t from, float* out, std::ptrdiff_t to) {
  const V g0 = load_at(in), g1 = load_at(in + from), g2 = load_at(in + 2 * from);
  const V even = times(hn::Add(g0, g2), -1.0f / 6), odd = times(g1, 1.0f / 6);
  const V wide = plus_times(g0, 1.0f / 24, times(g2, 1.0f / 6)), middle = times(g1, 1.0f / 12);
  store_at(times(g0, 0.25f), out);
  store_at(hn::Sub(even, odd), out + to);
  store_at(hn::Add(even, odd), out + 2 * to);
  store_at(hn::Add(wide, middle), out + 3 * to);
  store_at(hn::Sub(wide, middle), out + 4 * to);
  store_at(g2, out + 5 * to);
}

HWY_INLINE void filter2(const float* in, std::ptrdiff_t from, float* out, std::ptrdiff_t to) {
  const V g0 = load_at(in), g1 = load_at(in + from), g2 = load_at(in + 2 * from);
  const V even = times(hn::Add(g0, g2), 0.5f), odd = times(g1, 0.5f);
  store_at(g0, out);
  store_at(hn::Add(even, odd), out + to);
  store_at(hn::Sub(even, odd), out + 2 * to);
  store_at(g2, out + 3 * to);
}

HWY_INLINE void output4(const float* in, std::ptrdiff_t from, float* out, std::ptrdiff_t to) {
  const V m1 = load_at(in + from), m2 = load_at(in + 2 * from), m3 = load_at(in + 3 * from),
          m4 = load_at(in + 4 * from);
  const V s1 = hn::Add(m1, m2), d1 = hn::Sub(m1, m2), s2 = hn::Add(m3, m4), d2 = hn::Sub(m3, m4);
  store_at(hn::Add(hn::Add(load_at(in), s1), s2), out);
  store_at(plus_times(d2, 2, d1), out + to);
  store_at(plus_times(s2, 4, s1), out + 2 * to);
  store_at(plus_times(d2, 8, hn::Add(d1, load_at(in + 5 * from))), out + 3 * to);
}

HWY_INLINE void output2(const float* in, std::ptrdiff_t from, float* out, std::ptrdiff_t to) {
  const V m1 = load_at(in + from), m2 = load_at(in + 2 * from);
  store_at(hn::Add(load_at(in), hn::Add(m1, m2)), out);
  store_at(hn::Sub(hn::Sub(m1, m2), load_at(in + 3 * from)), out + to);
}

// Transforms both dimensions, first columns, then rows, for 16 channels in as many vectors as they
// need.
#define ASSAY_2D(name, transform, kIn, kOut)                                                       \
  HWY_INLINE void name##_2d(const float* in, std::ptrdiff_t row, std::ptrdiff_t pixel, float* out, \
                            std::ptrdiff_t out_row, std::ptrdiff_t out_pixel) {                    \
    const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(D()));                                \
    alignas(64) float half[std::ptrdiff_t{kOut} * kIn * channel_block];                            \
    for (std::ptrdiff_t c = 0; c < channel_block; c += lanes) {                                    \
      for (std::ptrdiff_t x = 0; x < kIn; ++x)                                                     \
        transform(in + x * pixel + c, row, half + x * lanes, kIn * lanes);                         \
      for (std::ptrdiff_t y = 0; y < kOut; ++y)                                                    \
        transform(half + y * kIn * lanes, lanes, out + y * out_row + c, out_pixel);                \
    }                                                                                              \
  }
ASSAY_2D(input2, input2, 4, 4)
ASSAY_2D(input4, input4, 6, 6)
ASSAY_2D(filter2, filter2, 3, 4)
ASSAY_2D(filter4, filter4, 3, 6)
ASSAY_2D(output2, output2, 4, 2)
ASSAY_2D(output4, output4, 6, 4)

void transform_input2(const float* in, std::ptrdiff_t row, std::ptrdiff_t pixel, float* out,
                      std::ptrdiff_t step) {
  input2_2d(in, row, pixel, out, 4 * step, step);
}
void transform_input4(const float* in, std::ptrdiff_t row, std::ptrdiff_t pixel, float* out,
                      std::ptrdiff_t step) {
  input4_2d(in, row, pixel, out, 6 * step, step);
}
void transform_filter2(const float* taps, float* out, std::ptrdiff_t step) {
  filter2_2d(taps, 3 * channel_block, channel_block, out, 4 * step, step);
}
void transform_filter4(const float* taps, float* out, std::ptrdiff_t step) {
  filter4_2d(taps, 3 * channel_block, channel_block, out, 6 * step, step);
}
void transform_output2(const float* in, std::ptrdiff_t step, float* out, std::ptrdiff_t row,
                       std::ptrdiff_t pixel) {
  output2_2d(in, 4 * step, step, out, row, pixel);
}
void transform_output4(const float* in, std::ptrdiff_t step, float* out, std::ptrdiff_t row,
                       std::ptrdiff_t pixel) {
  output4_2d(in, 6 * step, step, out, row, pixel);
}

}  // namespace

const WinogradTable* winograd_table_here() {
  static const WinogradTable table{&transform_input2,  &transform_input4,  &transform_filter2,
                                   &transform_filter4, &transform_output2, &transform_output4};
  return &table;
}

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {
HWY_EXPORT(winograd_table_here);
const WinogradTable& winograd_table() { return *HWY_DYNAMIC_DISPATCH(winograd_table_here)(); }
}  // namespace assay::native
#endif
