#pragma once
// Items (item.hpp) that the 32 threads of a warp compute together: its lanes exchange values by
// shuffles. An item of thread i begins with
//   const Warp warp(i);
//   if (warp.idle()) return;
// The host has no warps, so the first of 32 threads does the work of all. The variables of lanes
// are Lanes: a thread of a GPU holds the variable of one lane, the host those of all. Launches have
// whole warps.

#include <cstring>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

inline constexpr int warp_lanes = 32;
#if defined(__CUDA_ARCH__)
inline constexpr int lanes_here = 1;
#else
inline constexpr int lanes_here = warp_lanes;
#endif

/// A variable of each lane.
template <class T>
struct Lanes {
  T values[lanes_here];
  ASSAY_ITEM T& operator[](int lane) { return values[lane % lanes_here]; }
};

class Warp {
 public:
  ASSAY_ITEM explicit Warp(std::int64_t thread)
      : number(thread / warp_lanes), lane_(static_cast<int>(thread % warp_lanes)) {}

  ASSAY_ITEM bool idle() const { return lanes_here > 1 && lane_ > 0; }

  /// act(lane) in every lane.
  template <class Act>
  ASSAY_ITEM void each(const Act& act) const {
    for (int lane = lane_; lane < lane_ + lanes_here; ++lane) act(lane);
  }

  /// Joins the values of all lanes, by halves, in five steps. Every lane gets the same bits,
  /// because a join does not depend on the order of its two values.
  template <class T, class Join>
  ASSAY_ITEM void join(Lanes<T>& values, const Join& join) const {
    for (int apart = warp_lanes / 2; apart > 0; apart /= 2) {
      Lanes<T> others;
#if defined(__CUDA_ARCH__)
      others.values[0] = of_lane(values.values[0], apart);
#else
      for (int lane = 0; lane < warp_lanes; ++lane) others[lane] = values[lane ^ apart];
#endif
      for (int i = 0; i < lanes_here; ++i)
        values.values[i] = join(values.values[i], others.values[i]);
    }
  }
  template <class T>
  ASSAY_ITEM void add_up(Lanes<T>& values) const {
    join(values, [](const T& a, const T& b) { return a + b; });
  }

  std::int64_t number;

 private:
#if defined(__CUDA_ARCH__)
  /// The value of the lane whose number differs in the bit `apart`.
  template <class T>
  static __device__ T of_lane(const T& value, int apart) {
    constexpr int count = sizeof(T) / sizeof(unsigned);
    static_assert(count * sizeof(unsigned) == sizeof(T));
    unsigned words[count];
    memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = __shfl_xor_sync(0xffffffffu, word, apart);
    T other;
    memcpy(&other, words, sizeof(T));
    return other;
  }
#endif

  int lane_;
};

/// Calls act(first, integral_constant of the count) for a lane's packs of the elements [begin,
/// end). The memory begins with a whole pack. Packs have `width` elements; elements at both ends
/// are single.
template <int width, class Act>
ASSAY_ITEM void each_pack(std::int64_t begin, std::int64_t end, int lane, const Act& act) {
  for (std::int64_t at = (begin / width + lane) * width; at < end; at += warp_lanes * width) {
    if (at >= begin && at + width <= end) {
      act(at, std::integral_constant<int, width>());
      continue;
    }
    for (std::int64_t single = at < begin ? begin : at; single < at + width && single < end;
         ++single)
      act(single, std::integral_constant<int, 1>());
  }
}

/// A tile of a row-major matrix has 256 columns: each lane holds eight of a row, in packs of
/// `width`, which are 32 packs apart. So a warp reads adjacent memory together.
inline constexpr int lane_columns = 8;
inline constexpr std::int64_t tile_columns = warp_lanes * lane_columns;
ASSAY_ITEM std::int64_t count_tiles(std::int64_t columns) {
  return (columns + tile_columns - 1) / tile_columns;
}

template <class Value>
struct LaneValues {
  Value at[lane_columns];
};

/// The column of element j of a lane.
template <int width>
ASSAY_ITEM std::int64_t find_column(std::int64_t tile, int lane, int j) {
  return tile * tile_columns + (j / width * warp_lanes + lane) * width + j % width;
}

/// A lane's elements of a row, which has whole packs; 0 beyond it.
template <int width, class Stored>
ASSAY_ITEM LaneValues<ValueOf<Stored>> load_held(const Stored* row, std::int64_t columns,
                                                 std::int64_t tile, int lane) {
  LaneValues<ValueOf<Stored>> to = {};
  for (int j = 0; j < lane_columns; j += width)
    if (const std::int64_t column = find_column<width>(tile, lane, j); column < columns)
      load<width>(row + column, to.at + j);
  return to;
}

}  // namespace assay::cuda
