#include "kernels/cuda/stream_kernels.hpp"

namespace assay::cuda {
namespace {

constexpr int block_threads = 512;
// Two blocks of 512 threads on a multiprocessor are in flight at once on every architecture; more
// blocks even out what is left over at the end.
constexpr int blocks_per_processor = 16;

/// Sixteen bytes: what one load or store of a thread moves.
template <class T>
struct Wide;
template <>
struct Wide<float> {
  using Type = float4;
  static constexpr int count = 4;
  template <class F>
  static __device__ Type map(const Type& a, const Type& b, F f) {
    return make_float4(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w));
  }
};
template <>
struct Wide<double> {
  using Type = double2;
  static constexpr int count = 2;
  template <class F>
  static __device__ Type map(const Type& a, const Type& b, F f) {
    return make_double2(f(a.x, b.x), f(a.y, b.y));
  }
};

// Loads and stores with the cache operators of the PTX ISA, which compilers' own functions for them
// do not all have: .cs streams (is used once); .cg goes past the first-level cache. Volatile: each
// is made, each time that it is written.
__device__ float4 load_streaming(const float4* from) {
  float4 v;
  asm volatile("ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from));
  return v;
}
__device__ double2 load_streaming(const double2* from) {
  double2 v;
  asm volatile("ld.global.cs.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(from));
  return v;
}
__device__ void store_streaming(float4* to, const float4& v) {
  asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ void store_streaming(double2* to, const double2& v) {
  asm volatile("st.global.cs.v2.f64 [%0], {%1, %2};" : : "l"(to), "d"(v.x), "d"(v.y) : "memory");
}
__device__ float4 load_again(const float4* from) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from));
  return v;
}
__device__ double2 load_again(const double2* from) {
  double2 v;
  asm volatile("ld.global.cg.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(from));
  return v;
}
__device__ std::int32_t load_again(const std::int32_t* from) {
  std::int32_t v;
  asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(v) : "l"(from));
  return v;
}

template <Move what, class T>
struct Apply {
  T scalar;
  __device__ T operator()(T a, T b) const {
    if (what == Move::copy) return a;
    if (what == Move::scale) return scalar * a;
    if (what == Move::add) return a + b;
    return a + scalar * b;
  }
};

template <Move what, bool streaming, class T>
__global__ void __launch_bounds__(block_threads)
    move_kernel(Apply<what, T> apply, const T* __restrict__ a, const T* __restrict__ b,
                T* __restrict__ c, std::int64_t n) {
  using W = Wide<T>;
  using V = typename W::Type;
  constexpr bool two = what == Move::add || what == Move::triad;
  const std::int64_t wide = n / W::count, step = std::int64_t{gridDim.x} * blockDim.x,
                     first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto load = [](const V* from) { return streaming ? load_streaming(from) : *from; };
  const V* const av = reinterpret_cast<const V*>(a);
  const V* const bv = reinterpret_cast<const V*>(b);
  V* const cv = reinterpret_cast<V*>(c);
  for (std::int64_t i = first; i < wide; i += step) {
    const V x = load(av + i), y = two ? load(bv + i) : x;
    const V out = W::map(x, y, apply);
    if (streaming)
      store_streaming(cv + i, out);
    else
      cv[i] = out;
  }
  for (std::int64_t i = wide * W::count + first; i < n; i += step)
    c[i] = apply(a[i], two ? b[i] : a[i]);
}

int blocks_for(std::int64_t items, int processors) {
  const std::int64_t needed = (items + block_threads - 1) / block_threads,
                     most = std::int64_t{processors} * blocks_per_processor;
  return static_cast<int>(needed < 1 ? 1 : needed < most ? needed : most);
}

template <Move what, class T>
cudaError_t start(bool streaming, T scalar, const T* a, const T* b, T* c, std::int64_t n,
                  int processors, cudaStream_t stream) {
  const int blocks = blocks_for(n / Wide<T>::count, processors);
  const Apply<what, T> apply{scalar};
  if (streaming)
    move_kernel<what, true, T><<<blocks, block_threads, 0, stream>>>(apply, a, b, c, n);
  else
    move_kernel<what, false, T><<<blocks, block_threads, 0, stream>>>(apply, a, b, c, n);
  return cudaGetLastError();
}

__device__ double total(const float4& v) {
  return (double{v.x} + double{v.y}) + (double{v.z} + double{v.w});
}
__device__ double total(const double2& v) { return v.x + v.y; }

template <class T>
__global__ void __launch_bounds__(block_threads)
    read_kernel(const T* a, double* sum, std::int64_t n, std::int64_t passes) {
  using W = Wide<T>;
  const std::int64_t wide = n / W::count, step = std::int64_t{gridDim.x} * blockDim.x,
                     first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto* const av = reinterpret_cast<const typename W::Type*>(a);
  double mine = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = first; i < wide; i += step) mine += total(load_again(av + i));
    for (std::int64_t i = wide * W::count + first; i < n; i += step) mine += double{a[i]};
  }
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(0xffffffffu, mine, lane);
  __shared__ double of_warps[block_threads / 32];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double of_block = 0;
  for (double part : of_warps) of_block += part;
  atomicAdd(sum, of_block);
}

__global__ void chase_kernel(const std::int32_t* ring, std::int64_t lines, std::int64_t stride,
                             const std::int32_t* start, std::int32_t* end, std::int64_t loads) {
  std::int64_t at = *start % lines;
  if (at < 0) at += lines;
  for (std::int64_t i = 0; i < loads; ++i) at = load_again(ring + at * stride);
  *end = static_cast<std::int32_t>(at);
}

}  // namespace

template <class T>
cudaError_t move(Move what, bool streaming, T scalar, const T* a, const T* b, T* c, std::int64_t n,
                 int processors, cudaStream_t stream) {
  switch (what) {
    case Move::copy:
      return start<Move::copy>(streaming, scalar, a, b, c, n, processors, stream);
    case Move::scale:
      return start<Move::scale>(streaming, scalar, a, b, c, n, processors, stream);
    case Move::add:
      return start<Move::add>(streaming, scalar, a, b, c, n, processors, stream);
    case Move::triad:
      break;
  }
  return start<Move::triad>(streaming, scalar, a, b, c, n, processors, stream);
}

template <class T>
cudaError_t read(const T* a, double* sum, std::int64_t n, std::int64_t passes, int processors,
                 cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  if (error != cudaSuccess) return error;
  read_kernel<T>
      <<<blocks_for(n / Wide<T>::count, processors), block_threads, 0, stream>>>(a, sum, n, passes);
  return cudaGetLastError();
}

cudaError_t chase(const std::int32_t* ring, std::int64_t lines, std::int64_t stride,
                  const std::int32_t* start, std::int32_t* end, std::int64_t loads,
                  cudaStream_t stream) {
  chase_kernel<<<1, 1, 0, stream>>>(ring, lines, stride, start, end, loads);
  return cudaGetLastError();
}

template cudaError_t move(Move, bool, float, const float*, const float*, float*, std::int64_t, int,
                          cudaStream_t);
template cudaError_t move(Move, bool, double, const double*, const double*, double*, std::int64_t,
                          int, cudaStream_t);
template cudaError_t read(const float*, double*, std::int64_t, std::int64_t, int, cudaStream_t);
template cudaError_t read(const double*, double*, std::int64_t, std::int64_t, int, cudaStream_t);

}  // namespace assay::cuda
