#pragma once
// Errors of the CUDA runtime, with its own messages.

#include <cuda_runtime_api.h>

#include <string>

namespace assay::cuda {

/// The message of an error, by cudaGetErrorString, and its number.
std::string words(cudaError_t error);

/// Throws CaseError "<what> failed (CUDA: …). …" unless `error` is success.
void check(cudaError_t error, const std::string& what);

/// Call it after an error of a library that uses CUDA: the library may hide an error of the
/// runtime. Reads and clears the runtime's last error and returns its message, or "" if there is
/// none. Errors from which the process cannot recover (an illegal address, a failed assertion, a
/// lost device) are remembered for check_usable().
std::string pending();

/// False if an error has occurred from which the process cannot recover: results after it cannot be
/// trusted.
bool is_usable();

/// Throws CaseError unless is_usable().
void check_usable();

}  // namespace assay::cuda
