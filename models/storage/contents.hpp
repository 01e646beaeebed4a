#pragma once
// The contents of files that assay-io writes: a function of a key and of the place in the file.

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

/// The key of file `file` in its `generation`. Keys differ, so that no file passes for another, nor
/// for an earlier one of its name.
std::uint64_t contents_key(std::uint64_t seed, std::uint64_t generation, int file);

/// Writes the bytes from `first` on, a multiple of 8. No storage can compress them or find equal
/// parts.
void fill_contents(std::uint64_t key, std::int64_t first, std::span<std::byte> out);
/// The index in `bytes` of the first byte that is not that of the contents from `first` on; -1 if
/// there is none.
std::int64_t first_difference(std::uint64_t key, std::int64_t first,
                              std::span<const std::byte> bytes);

}  // namespace assay
