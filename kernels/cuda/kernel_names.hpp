#pragma once
// The arithmetic and the algorithm of NVIDIA's kernels, as far as their names tell.

#include <string>
#include <vector>

#include "core/api/precision.hpp"

namespace assay::cuda {

/// The algorithms that names tell apart.
enum class Family { direct, winograd, fft };

/// What ran, by the names of its kernels.
struct Seen {
  Family family = Family::direct;
  bool tensor_cores = false;  ///< some kernel used them, other than in fp64
  std::string names;          ///< the kernels, without parameter lists: "a + b"
};
Seen read_kernels(const std::vector<std::string>& kernels);

/// The reason why the kernels that ran cannot be the arithmetic of a precision; "" if they can.
std::string why_not_arithmetic(const Seen& seen, Precision precision);

/// The family of an algorithm's name ("winograd_nonfused").
Family family_of(const std::string& algorithm);

}  // namespace assay::cuda
