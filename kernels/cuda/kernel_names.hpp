#pragma once
// Derives the arithmetic and the algorithm of NVIDIA's kernels from their names.

#include <string>
#include <vector>

#include "core/api/precision.hpp"

namespace assay::cuda {

/// The algorithms that can be distinguished by names.
enum class Family { direct, winograd, fft };

/// The information in the names of the kernels that ran.
struct KernelMeaning {
  Family family = Family::direct;
  bool tensor_cores = false;  ///< some kernel used tensor cores, other than in fp64
  bool adds_parts = false;    ///< sums were split, and their parts added in the type of the result
  std::string names;          ///< the kernels, without parameter lists: "a + b"
  double seconds = 0;         ///< total of all kernels of a run, by CUPTI; 0: unknown
  bool adds_in_fp32 = false;  ///< sums were split, and their parts stored and added in fp32
};
KernelMeaning read_kernels(const std::vector<std::string>& kernels);

/// The reason why the kernels that ran cannot have the arithmetic of a precision; "" if they can.
std::string why_not_arithmetic(const KernelMeaning& seen, Precision precision);

/// The family of an algorithm's name ("winograd_nonfused").
Family find_family(const std::string& algorithm);

}  // namespace assay::cuda
