#pragma once
// Finds the nearest centroid of a row by products with differences of centroids. Let b be the
// centroid nearest to 0. Then (c - b) . (c + b) / 2 - x . (c - b) is half of the difference between
// the squared distances of x to c and of x to b. Little cancels in it if x is far from 0 and the
// centroids are close to each other.

#include <cstddef>
#include <limits>
#include <numeric>

namespace assay {

/// Index of the centroid nearest to 0; centroids are [k, d]. The first of equal ones is taken.
template <class T>
std::ptrdiff_t find_nearest_to_zero(const T* centroids, std::ptrdiff_t k, std::ptrdiff_t d) {
  std::ptrdiff_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::ptrdiff_t i = 0; i < k; ++i) {
    const T* const c = centroids + i * d;
    const double square = std::inner_product(c, c + d, c, 0.0);
    if (!(square < least)) continue;
    nearest = i;
    least = square;
  }
  return nearest;
}

/// Calls put(j, c[j] - b[j]) for all j < d. Returns (c - b) . (c + b) / 2, summed in fp64.
template <class T, class PieceWriter>
T subtract_centroid(const T* c, const T* b, std::ptrdiff_t d, const PieceWriter& put) {
  double sum = 0;
  for (std::ptrdiff_t j = 0; j < d; ++j) {
    const T difference = c[j] - b[j];
    sum +=
        static_cast<double>(difference) * (static_cast<double>(c[j]) + static_cast<double>(b[j]));
    put(j, difference);
  }
  return static_cast<T>(sum / 2);
}

}  // namespace assay
