#pragma once
// The inner loops of the stream benchmark's operations, for one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/api/operation.hpp"
#include "kernels/stream/problem.hpp"

namespace assay::native {

/// c[0 … n) from a and b (copy and scale: only from a). `nontemporal`: stores bypass the caches; c
/// must then be aligned to 64 bytes.
void move(StreamKernel kernel, bool nontemporal, const float* a, const float* b, float* c,
          std::size_t n);
void move(StreamKernel kernel, bool nontemporal, const double* a, const double* b, double* c,
          std::size_t n);
/// The sum of n elements, repeated `passes` times.
double sum(const float* a, std::size_t n, std::size_t passes);
double sum(const double* a, std::size_t n, std::size_t passes);
/// The instruction set of the functions above, by Highway's name.
std::string memory_instructions();

/// Multiply-adds in registers.
struct Registers {
  /// y[i] = x[i] after `updates` updates, of stream_values values.
  void (*run)(const void* x, void* y, std::int64_t updates) = nullptr;
  std::string instructions, compute, accumulate;
  int vector_bits = 0;
  int chains = 0;  ///< vectors that are updated in turn, so that no update waits for the previous
                   ///< one
};
/// The widest multiply-adds of this processor for the precision, or the reason why there are none.
Result<Registers> fma_registers(Precision precision);   // fp64, fp32
Result<Registers> half_registers(Precision precision);  // fp16, bf16, int8
/// A group of factors of dot products as one word: two bf16, in units of 2^-7, or four bytes.
std::uint32_t dot_group(Precision precision, const int (&factors)[4]);
/// Multiply-adds of tile units instead of vectors; nothing if this processor has no tile unit for
/// the precision.
std::optional<Result<Registers>> tile_registers(Precision precision);

/// Clock of the cores under `threads` threads, from chains of dependent integer additions of two
/// registers, each of which takes one cycle on all known processors. A thread takes the fastest of
/// a few short chains, because an interrupted chain is slower; the result is the mean over the
/// threads. Each thread calls `before` just before each chain. 0 if there is no such chain for the
/// processor.
double clock_hz(
    int threads, const std::function<void()>& before = [] {});

}  // namespace assay::native
