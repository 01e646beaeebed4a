#pragma once
// Exceptions must not leave a parallel region.

#include <exception>

namespace assay::sums {

/// Keeps an exception of the threads of a region, to be thrown after the region.
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
