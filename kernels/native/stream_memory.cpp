// STREAM's loops and the sum, for every instruction set that Highway has.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/native/stream_memory.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/native/stream.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::native::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The barrier prevents the compiler from replacing a copy loop by memcpy, which chooses its own
// stores.
HWY_INLINE void keep_loop() { asm volatile("" ::: "memory"); }

template <class T, class Element>
HWY_INLINE void sweep(bool nontemporal, const T* a, const T* b, T* c, std::size_t n,
                      const Element& element) {
  // Vectors of half a cache line suffice, since the loops wait for memory. With 64 bytes the loops
  // took 12 % longer on an EPYC 9004 (in processor time, run alternately); with 16 bytes they took
  // as long as the compiler's own.
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  if (nontemporal) {
    for (; i + lanes <= n; i += lanes) {
      keep_loop();
      hn::Stream(element(d, hn::Load(d, a + i), b + i), d, c + i);
    }
    hwy::FlushStream();
  } else {
    for (; i + lanes <= n; i += lanes) {
      keep_loop();
      hn::Store(element(d, hn::Load(d, a + i), b + i), d, c + i);
    }
  }
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) hn::Store(element(one, hn::Load(one, a + i), b + i), one, c + i);
}

struct Copy {
  template <class D, class V, class T>
  HWY_INLINE V operator()(D, V a, const T*) const {
    return a;
  }
};
struct Scale {
  template <class D, class V, class T>
  HWY_INLINE V operator()(D d, V a, const T*) const {
    return hn::Mul(hn::Set(d, static_cast<T>(stream_scalar)), a);
  }
};
struct Add {
  template <class D, class V, class T>
  HWY_INLINE V operator()(D d, V a, const T* b) const {
    return hn::Add(a, hn::Load(d, b));
  }
};
struct Triad {
  template <class D, class V, class T>
  HWY_INLINE V operator()(D d, V a, const T* b) const {
    return hn::MulAdd(hn::Set(d, static_cast<T>(stream_scalar)), hn::Load(d, b), a);
  }
};

template <class T>
HWY_INLINE void move_any(StreamKernel kernel, bool nontemporal, const T* a, const T* b, T* c,
                         std::size_t n) {
  if (kernel == StreamKernel::copy) sweep(nontemporal, a, b, c, n, Copy());
  if (kernel == StreamKernel::scale) sweep(nontemporal, a, b, c, n, Scale());
  if (kernel == StreamKernel::add) sweep(nontemporal, a, b, c, n, Add());
  if (kernel == StreamKernel::triad) sweep(nontemporal, a, b, c, n, Triad());
}

template <class T>
HWY_INLINE double sum_any(const T* a, std::size_t n, std::size_t passes) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  // Eight sums, because an addition takes up to four cycles, and two loads arrive in each cycle.
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  double rest = 0;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    std::size_t i = 0;
    for (; i + 8 * lanes <= n; i += 8 * lanes) {
      s0 = hn::Add(s0, hn::Load(d, a + i));
      s1 = hn::Add(s1, hn::Load(d, a + i + lanes));
      s2 = hn::Add(s2, hn::Load(d, a + i + 2 * lanes));
      s3 = hn::Add(s3, hn::Load(d, a + i + 3 * lanes));
      s4 = hn::Add(s4, hn::Load(d, a + i + 4 * lanes));
      s5 = hn::Add(s5, hn::Load(d, a + i + 5 * lanes));
      s6 = hn::Add(s6, hn::Load(d, a + i + 6 * lanes));
      s7 = hn::Add(s7, hn::Load(d, a + i + 7 * lanes));
    }
    for (; i < n; ++i) rest += static_cast<double>(a[i]);
  }
  const auto all =
      hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, all))) + rest;
}

HWY_ATTR void move_float(StreamKernel kernel, bool nontemporal, const float* a, const float* b,
                         float* c, std::size_t n) {
  move_any(kernel, nontemporal, a, b, c, n);
}
HWY_ATTR void move_double(StreamKernel kernel, bool nontemporal, const double* a, const double* b,
                          double* c, std::size_t n) {
  move_any(kernel, nontemporal, a, b, c, n);
}
HWY_ATTR double sum_float(const float* a, std::size_t n, std::size_t passes) {
  return sum_any(a, n, passes);
}
HWY_ATTR double sum_double(const double* a, std::size_t n, std::size_t passes) {
  return sum_any(a, n, passes);
}
HWY_ATTR const char* instructions() { return hwy::TargetName(HWY_TARGET); }

}  // namespace assay::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::native {

HWY_EXPORT(move_float);
HWY_EXPORT(move_double);
HWY_EXPORT(sum_float);
HWY_EXPORT(sum_double);
HWY_EXPORT(instructions);

void move(StreamKernel kernel, bool nontemporal, const float* a, const float* b, float* c,
          std::size_t n) {
  HWY_DYNAMIC_DISPATCH(move_float)(kernel, nontemporal, a, b, c, n);
}
void move(StreamKernel kernel, bool nontemporal, const double* a, const double* b, double* c,
          std::size_t n) {
  HWY_DYNAMIC_DISPATCH(move_double)(kernel, nontemporal, a, b, c, n);
}
double sum(const float* a, std::size_t n, std::size_t passes) {
  return HWY_DYNAMIC_DISPATCH(sum_float)(a, n, passes);
}
double sum(const double* a, std::size_t n, std::size_t passes) {
  return HWY_DYNAMIC_DISPATCH(sum_double)(a, n, passes);
}
std::string memory_instructions() { return HWY_DYNAMIC_DISPATCH(instructions)(); }

}  // namespace assay::native
#endif
