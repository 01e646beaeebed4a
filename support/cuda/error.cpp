#include "support/cuda/error.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace assay::cuda {
namespace {

/// The error that destroyed the CUDA context of this process; empty: none.
std::string& context_error() {
  static std::string words;
  return words;
}

/// Reading an error clears it, unless the error has destroyed the context: then the next
/// synchronisation returns it again.
void remember_if_sticky() {
  cudaGetLastError();
  const cudaError_t still = cudaDeviceSynchronize();
  // Synchronisation is forbidden while a stream is captured: its error then says nothing about the
  // context.
  const bool tells =
      still != cudaErrorStreamCaptureUnsupported && still != cudaErrorStreamCaptureInvalidated;
  if (still != cudaSuccess && tells && context_error().empty()) context_error() = words(still);
  cudaGetLastError();
}

}  // namespace

std::string words(cudaError_t error) {
  return fmt::format("\"{}\", error {}", cudaGetErrorString(error), static_cast<int>(error));
}

std::string pending() {
  const cudaError_t error = cudaGetLastError();
  remember_if_sticky();
  return error == cudaSuccess ? context_error() : words(error);
}

void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  remember_if_sticky();
  throw CaseError(fmt::format(
      "{} failed (CUDA: {}){}", what, words(error),
      context_error().empty() ? "" : ". No later case of this process can use the GPU."));
}

bool is_usable() { return context_error().empty(); }

void check_usable() {
  if (is_usable()) return;
  throw CaseError(fmt::format(
      "the GPU cannot be used any more in this process (an earlier case met CUDA: {}). Run this "
      "case alone; compute-sanitizer finds what broke it.",
      context_error()));
}

}  // namespace assay::cuda
