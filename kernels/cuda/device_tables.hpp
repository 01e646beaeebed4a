#pragma once
// Small arrays that kernels read, and the places of a tensor's elements in its layout.

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "core/api/layout.hpp"
#include "core/api/tensor.hpp"
#include "kernels/cuda/data_items.hpp"

namespace assay::cuda {

/// Enough threads for every GPU, and few enough that their results need 30 MB at most.
inline constexpr std::int64_t most_lanes = std::int64_t{1} << 18;

/// Small arrays of the host that kernels read. They share one piece of memory.
class Tables {
 public:
  /// Returns the offset at which they begin in the memory.
  template <class T>
  std::size_t add(std::span<const T> values) {
    const std::size_t at = size();
    bytes_.resize(at + values.size_bytes());
    if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size_bytes());
    return at;
  }
  std::size_t size() const { return (bytes_.size() + 15) / 16 * 16; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
T* address(std::byte* memory, std::size_t at) {
  return reinterpret_cast<T*>(memory + at);
}

inline bool in_pieces(const TensorSpec& spec) {
  return spec.layout && !spec.layout->pieces.empty();
}

inline std::int64_t count_piece(const Layout& layout) {
  return layout.elements / static_cast<std::int64_t>(layout.pieces.size());
}

/// The places of a layout. `pieces` stays null: the caller copies it to the GPU.
inline Places find_places(const TensorSpec& spec) {
  Places places;
  if (!spec.layout) return places;
  places.dims = static_cast<int>(spec.dims.size());
  for (std::size_t d = 0; d < spec.dims.size(); ++d) {
    const Split& split = spec.layout->splits[d];
    places.extent[d] = spec.dims[d];
    places.block[d] = split.block;
    places.outer[d] = split.outer;
    places.inner[d] = split.inner;
  }
  return places;
}

/// Adds the pieces of a tensor's layout to the tables; once the tables are at `memory`, sets their
/// address. The second function takes the offset `at` that the first one returned.
inline std::size_t add_pieces(const TensorSpec& spec, Tables& tables) {
  return in_pieces(spec) ? tables.add(std::span<const std::int64_t>(spec.layout->pieces)) : 0;
}
inline void set_pieces(const TensorSpec& spec, std::byte* memory, std::size_t at, Places& places) {
  if (!in_pieces(spec)) return;
  places.pieces = address<const std::int64_t>(memory, at);
  places.piece = count_piece(*spec.layout);
}

}  // namespace assay::cuda
