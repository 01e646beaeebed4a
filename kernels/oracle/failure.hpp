#pragma once
// An exception of a parallel region, which must not leave it.

#include <exception>

namespace assay::sums {

/// Keeps an exception of the threads of a region, for after it.
class Failure {
 public:
  template <class Body>
  void keep(const Body& body) {
    try {
      body();
    } catch (...) {
#pragma omp critical(assay_kept_failure)
      failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace assay::sums
