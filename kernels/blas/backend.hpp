#pragma once
// CBLAS libraries as a backend: OpenBLAS, BLIS, MKL, ESSL, SSL2 or any other, named at run time. A
// process uses one of them, since their threads would disturb each other.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/api/backend.hpp"
#include "kernels/blas/library.hpp"

namespace assay::blas {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

/// The library that device() has opened; std::logic_error before that.
const Library& library();

/// The base of operations that call functions of the library, each with its own number of threads.
class BlasOperation : public BoundOperation {
 public:
  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    use_threads();
  }

 protected:
  BlasOperation(std::vector<TensorSpec> arguments, int threads)
      : BoundOperation(std::move(arguments)), library_threads_(threads) {}
  void use_threads() const { library().use_threads(library_threads_); }

 private:
  int library_threads_;
};

/// Creates Own<type of the library's integers, float or double>.
template <template <class Int, class Real> class Own, class... Arguments>
std::unique_ptr<Operation> make_own(Precision precision, const Arguments&... arguments) {
  const auto make = [&](auto integer) -> std::unique_ptr<Operation> {
    using Int = decltype(integer);
    if (precision == Precision::fp64) return std::make_unique<Own<Int, double>>(arguments...);
    return std::make_unique<Own<Int, float>>(arguments...);
  };
  return library().wide() ? make(std::int64_t()) : make(std::int32_t());
}

}  // namespace assay::blas
