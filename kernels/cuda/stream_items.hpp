#pragma once
// The items (item.hpp) of assay-stream. Each of `threads` threads steps through the packs of
// sixteen bytes, so that the GPU is full and the threads end together. Elements after the last
// whole pack are moved one by one.

#include <cstring>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

inline constexpr int stream_threads = 512;  ///< of a block

/// Threads for n elements, in whole blocks. On every architecture a multiprocessor runs at least
/// two blocks of 512 threads at once; more blocks shorten the uneven end.
template <class T>
std::int64_t stream_threads_for(std::int64_t n, int processors) {
  constexpr std::int64_t blocks_per_processor = 16;
  const std::int64_t packs = n / widest<T>, needed = (packs + stream_threads - 1) / stream_threads,
                     most = processors * blocks_per_processor;
  return stream_threads * (needed < 1 ? 1 : needed < most ? needed : most);
}

// Loads and stores with the cache operators of the PTX ISA: .cs streams data that are used once;
// .cg bypasses the first-level cache. They are volatile, so that none is removed.
enum class Caching { usual, once, second_level };

template <Caching how, class T>
ASSAY_ITEM Pack<T, widest<T>> load_pack(const T* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (how != Caching::usual) {
    uint4 v;
    if constexpr (how == Caching::once)
      asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(from));
    else
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(from));
    Pack<T, widest<T>> pack;
    memcpy(&pack, &v, sizeof pack);
    return pack;
  }
#endif
  return read<widest<T>>(from);
}

template <Caching how, class T>
ASSAY_ITEM void store_pack(const Pack<T, widest<T>>& pack, T* to) {
#if defined(__CUDA_ARCH__)
  if constexpr (how == Caching::once) {
    uint4 v;
    memcpy(&v, &pack, sizeof pack);
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, widest<T>>*>(to) = pack;
}

ASSAY_ITEM std::int32_t load_line(const std::int32_t* from) {
#if defined(__CUDA_ARCH__)
  std::int32_t v;
  asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(v) : "l"(from));
  return v;
#else
  return *from;
#endif
}

enum class Move { copy, scale, add, triad };

/// c[0 … n) from a and b (copy and scale: from a alone); `scalar` times a, or times b in triad.
template <class T, Move what, Caching how>
struct MovePacks {
  const T *a, *b;
  T* c;
  std::int64_t n, threads;
  T scalar;

  ASSAY_ITEM void operator()(std::int64_t thread) const { move(a, b, c, thread); }

 private:
  static constexpr bool two = what == Move::add || what == Move::triad;

  ASSAY_ITEM T moved(T x, T y) const {
    return what == Move::copy    ? x
           : what == Move::scale ? scalar * x
           : what == Move::add   ? x + y
                                 : x + scalar * y;
  }
  /// The tensors are different ones: loads may come before earlier stores.
  ASSAY_ITEM void move(const T* __restrict__ from, const T* __restrict__ also, T* __restrict__ to,
                       std::int64_t thread) const {
    const std::int64_t packs = n / widest<T>;
#if defined(__CUDA_ARCH__)
// Four loads are in flight at once; those with .cs stay in order. More loads would need so many
// registers that fewer threads fit.
#pragma unroll(how != Caching::usual ? 1 : two ? 2 : 4)
#endif
    for (std::int64_t i = thread; i < packs; i += threads) {
      const std::int64_t at = i * widest<T>;
      Pack<T, widest<T>> x = load_pack<how>(from + at), y = x;
      if constexpr (two) y = load_pack<how>(also + at);
      for (int j = 0; j < widest<T>; ++j) x.at[j] = moved(x.at[j], y.at[j]);
      store_pack<how>(x, to + at);
    }
    for (std::int64_t i = packs * widest<T> + thread; i < n; i += threads)
      to[i] = moved(from[i], two ? also[i] : from[i]);
  }
};

/// A thread's part of `passes` times the sum of a[0 … n). Each pass reads all of it from the L2
/// cache or from memory, never from a first-level cache.
template <class T>
struct ReadPacks {
  const T* a;
  std::int64_t n, passes, threads;

  ASSAY_ITEM double operator()(std::int64_t thread) const {
    const std::int64_t packs = n / widest<T>;
    double sum = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      for (std::int64_t i = thread; i < packs; i += threads)
        sum += total(load_pack<Caching::second_level>(a + i * widest<T>));
      for (std::int64_t i = packs * widest<T> + thread; i < n; i += threads)
        sum += static_cast<double>(a[i]);
    }
    return sum;
  }

 private:
  ASSAY_ITEM static double total(const Pack<T, widest<T>>& pack) {
    double pairs[widest<T> / 2];
    for (int j = 0; j < widest<T> / 2; ++j)
      pairs[j] = static_cast<double>(pack.at[2 * j]) + static_cast<double>(pack.at[2 * j + 1]);
    if constexpr (widest<T> == 4) return pairs[0] + pairs[1];
    return pairs[0];
  }
};

/// *end = the line that is reached by `loads` dependent loads from line `start` mod `lines`, where
/// ring[line * stride] is the next line. One thread.
struct ChaseLines {
  const std::int32_t* ring;
  std::int64_t lines, stride;
  const std::int32_t* start;
  std::int32_t* end;
  std::int64_t loads;

  ASSAY_ITEM void operator()(std::int64_t) const {
    std::int64_t at = *start % lines;
    if (at < 0) at += lines;
    for (std::int64_t i = 0; i < loads; ++i) at = load_line(ring + at * stride);
    *end = static_cast<std::int32_t>(at);
  }
};

}  // namespace assay::cuda
