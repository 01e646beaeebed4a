#pragma once
// What the names of NVIDIA's kernels tell of the arithmetic and the algorithm.

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

/// Why what ran is not the arithmetic of a precision; "" where nothing speaks against it.
std::string why_not_arithmetic(const Seen& seen, Precision precision);

/// The family of an algorithm's name ("winograd_nonfused").
Family family_of(const std::string& algorithm);

}  // namespace assay::cuda
