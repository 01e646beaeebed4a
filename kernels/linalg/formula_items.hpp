#pragma once
// The sums of products of kernels of data analysis as code of one thread of a device
// (kernels/oracle/part_of_sum.hpp). Definitions: kernels/linalg/problem.hpp.

#include <cstdint>

#include "core/api/item_code.hpp"

namespace assay::linalg {

/// Input: x, whose rows are observations of d features. (x, 1) is a row with a one appended.
struct Products {
  static constexpr const char* name = "linalg part of a sum";
  enum class Kind : std::int64_t {
    outer,     ///< [columns, columns], over all rows. Second input: s, if only rows with 0 < s < 1
               ///< count, or x, if all rows count. Table: the shift, if `shifts`
    scores,    ///< [n, k + 1], over features: x c of all centroids, and ||x||^2. Table: centroids
    distance,  ///< [n], over features: ||x - c||^2. Table: centroids, the number of a first row,
               ///< and of each row from it on the label
    members,   ///< [k, d], over the rows of a label. Table: labels
    margin,    ///< [n], over columns: (x, 1) w. Table: the shift, if `shifts`; w
    direction  ///< [2, columns], over rows: f (x, 1), then v (x, 1)^2. Table: the number of the
               ///< first row; f and v of each row from it on
  };
  Kind kind = Kind::outer;
  std::int64_t n = 1, d = 1, k = 1;  ///< n is not read: a device is trusted for one shape at a time
  std::int64_t columns = 1;          ///< d, or d + 1 with the one
  std::int64_t shifts = 0;           ///< 1: `table` begins with a shift that is subtracted from x
  std::int64_t selects = 0;          ///< 1: only rows with 0 < s < 1 count (kind outer)

  template <class In>
  ASSAY_ITEM double at(const In& in, std::int64_t row, std::int64_t column) const {
    return column == d ? 1 : in(0, row * d + column);
  }
  template <class In>
  ASSAY_ITEM double shift_element(const In& in, const double* table, std::int64_t row,
                                  std::int64_t column) const {
    const double x = at(in, row, column);
    return shifts != 0 && column < d ? x - table[column] : x;
  }

  template <class In>
  ASSAY_ITEM bool read(const In& in, const double* table, std::int64_t output, std::int64_t number,
                       double& a, double& b) const {
    switch (kind) {
      case Kind::outer: {
        if (selects != 0) {
          const double s = in(1, number);
          if (!(s > 0 && s < 1)) return false;
        }
        a = shift_element(in, table, number, output / columns);
        b = shift_element(in, table, number, output % columns);
        return true;
      }
      case Kind::scores: {
        const std::int64_t centroid = output % (k + 1);
        a = in(0, output / (k + 1) * d + number);
        b = centroid < k ? table[centroid * d + number] : a;
        return true;
      }
      case Kind::distance: {
        const double* const labels = table + k * d;
        const std::int64_t first = static_cast<std::int64_t>(labels[0]),
                           label = static_cast<std::int64_t>(labels[1 + output - first]);
        a = b = in(0, output * d + number) - table[label * d + number];
        return true;
      }
      case Kind::members:
        if (static_cast<std::int64_t>(table[number]) != output / d) return false;
        a = in(0, number * d + output % d);
        b = 1;
        return true;
      case Kind::margin:
        a = shift_element(in, table, output, number);
        b = table[(shifts != 0 ? d : 0) + number];
        return true;
      case Kind::direction: {
        const double x = at(in, static_cast<std::int64_t>(table[0]) + number, output % columns);
        a = table[1 + 2 * number + output / columns];
        b = output < columns ? x : x * x;
        return a != 0;
      }
    }
    return false;
  }
};

}  // namespace assay::linalg
