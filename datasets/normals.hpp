#pragma once
// Random numbers that depend only on (seed, purpose, row, column), by Random123's Philox4x32-10:
// equal for any number of ranks and threads, and on any processor.

#include <cstdint>

namespace assay {

/// Streams of random numbers of one seed, which are independent of each other.
enum class Purpose : std::uint32_t { values, choices, means, directions };

/// Standard normal numbers.
///
/// Key: the seed. Counter: (row as two words, pair of columns, purpose). Columns 2b and 2b + 1 are
/// pair b of the method of Box and Muller, "A Note on the Generation of Random Normal Deviates",
/// Annals of Mathematical Statistics 29 (1958): the radius is sqrt(-2 ln u), where u is a multiple
/// of 2^-52 in (0, 1], and the angle has 2^55 values; so |z| < 8.5. Every step is one correctly
/// rounded operation of IEEE 754 in a fixed order, so all instruction sets give the same bits.
class Normals {
 public:
  Normals(std::uint64_t seed, Purpose purpose) : seed_(seed), purpose_(purpose) {}
  /// out[count * features], row-major: rows [first, first + count). `features` is at most 2^32.
  void fill(std::int64_t first, std::int64_t count, std::int64_t features, double* out) const;

 private:
  std::uint64_t seed_;
  Purpose purpose_;
};

/// A choice among [0, count), uniform up to count / 2^64; count is at most 2^32.
std::int64_t random_choice(std::uint64_t seed, Purpose purpose, std::int64_t row,
                           std::int64_t count);

}  // namespace assay
