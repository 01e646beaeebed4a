#pragma once
// The dense kernels of data analysis as operations: their common parts, and the function that
// creates each.

#include <cstddef>
#include <memory>

#include "kernels/linalg/problem.hpp"

namespace assay::native {

/// Tensors, scratch memory and threads. The observations are divided into as many ranges as threads
/// are requested, and the sums of the ranges are added in their order. So a result depends on the
/// requested number of threads, and does not vary from run to run.
class LinalgOperation : public BoundOperation {
 protected:
  LinalgOperation(const LinalgProblem& problem, int threads, const char* target);
  /// Reserves `count` elements of the scratch memory, before bind(). Returns their place.
  template <class T>
  std::size_t reserve(std::ptrdiff_t count) {
    return reserve_bytes(static_cast<std::size_t>(count) * sizeof(T));
  }
  /// The same for each thread.
  template <class T>
  std::size_t reserve_for_threads(std::ptrdiff_t count) {
    return reserve_bytes(static_cast<std::size_t>(choose_stride<T>(count) * threads_) * sizeof(T));
  }
  template <class T>
  T* scratch(std::size_t place) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_.back()) + place);
  }
  template <class T>
  T* scratch_of_thread(std::size_t place, std::ptrdiff_t count, std::ptrdiff_t thread) const {
    return scratch<T>(place) + choose_stride<T>(count) * thread;
  }

  /// Observations of a thread.
  struct Range {
    std::ptrdiff_t begin, end;
  };
  Range find_range(std::ptrdiff_t thread) const;

  LinalgProblem problem_;
  int threads_;
  std::ptrdiff_t n_, d_, k_;

 private:
  static constexpr std::size_t line = 64;
  template <class T>
  static constexpr std::ptrdiff_t choose_stride(std::ptrdiff_t count) {
    constexpr auto of_line = static_cast<std::ptrdiff_t>(line / sizeof(T));
    return (count + of_line - 1) / of_line * of_line;
  }
  std::size_t reserve_bytes(std::size_t bytes);
};

std::unique_ptr<Operation> make_gram(const LinalgProblem& problem, int threads);
std::unique_ptr<Operation> make_kmeans_assign(const LinalgProblem& problem, int threads);
std::unique_ptr<Operation> make_hinge(const LinalgProblem& problem, int threads);

}  // namespace assay::native
