#pragma once
// The contents of files that assay-io writes: a function of a key and the position in the file.

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

/// The key of file `file` in its `generation`. All keys differ, so no file can be mistaken for
/// another one or for an earlier one with the same name.
std::uint64_t contents_key(std::uint64_t seed, std::uint64_t generation, int file);

/// Writes the bytes from `first` on, a multiple of 8. Storage can neither compress nor deduplicate
/// them.
void fill_contents(std::uint64_t key, std::int64_t first, std::span<std::byte> out);
/// The index in `bytes` of the first byte that differs from the contents from `first` on; -1 if
/// there is none.
std::int64_t first_difference(std::uint64_t key, std::int64_t first,
                              std::span<const std::byte> bytes);

}  // namespace assay
