#pragma once
// Errors of the CUDA runtime, in its own words.

#include <cuda_runtime_api.h>

#include <string>

namespace assay::cuda {

/// "out of memory", error 2: as cudaGetErrorString has it.
std::string words(cudaError_t error);

/// Returns where `error` is success; else throws a CaseError: "<what> failed (CUDA: …). …".
void check(cudaError_t error, const std::string& what);

/// For errors of libraries above CUDA, which may hide one of the runtime: whatever the runtime has
/// pending is read and forgotten, and remembered if it is one that no call of this process will
/// ever get rid of (an illegal address, a failed assertion, a lost device). Its words, or "".
std::string pending();

/// Throws a CaseError where such an error has been met: nothing that ran after it can be trusted.
void check_usable();

}  // namespace assay::cuda
