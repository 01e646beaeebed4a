#include "kernels/cuda/solvers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/base/error.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// A library whose functions are looked up one after the other; the first failure is kept.
class Loaded {
 public:
  explicit Loaded(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) fail();
  }
  template <class Function>
  void get(Function& function, const char* name) {
    if (!reason_.empty()) return;
    void* const symbol = dlsym(handle_, name);
    if (symbol == nullptr) return fail();
    function = reinterpret_cast<Function>(symbol);
  }
  const std::string& reason() const { return reason_; }

 private:
  void fail() {
    const char* const words = dlerror();
    reason_ = fmt::format("cuda: unavailable: {}", words == nullptr ? "no reason given" : words);
  }
  void* handle_;
  std::string reason_;
};

/// A table of functions, or why it could not be filled.
template <class Table>
struct Opened {
  Table table{};
  std::string reason;
  Result<const Table*> result() const {
    if (!reason.empty()) return Unsupported{reason};
    return &table;
  }
};

Opened<Blas> open_blas() {
  Opened<Blas> opened;
  Blas& blas = opened.table;
  Loaded library(fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR));
  library.get(blas.create, "cublasCreate_v2");
  library.get(blas.destroy, "cublasDestroy_v2");
  library.get(blas.set_stream, "cublasSetStream_v2");
  library.get(blas.version, "cublasGetVersion_v2");
  library.get(blas.words, "cublasGetStatusString");
  const auto get = [&library](auto& functions, const std::string& prefix) {
    library.get(functions.syrk, (prefix + "syrk_v2_64").c_str());
    library.get(functions.geam, (prefix + "geam_64").c_str());
    library.get(functions.dgmm, (prefix + "dgmm_64").c_str());
    library.get(functions.copy, (prefix + "copy_v2_64").c_str());
    library.get(functions.pack, (prefix + "trttp").c_str());
    library.get(functions.unpack, (prefix + "tpttr").c_str());
    library.get(functions.scal, (prefix + "scal_v2_64").c_str());
  };
  library.get(blas.gemms, "cublasDgemmStridedBatched_64");
  get(blas.fp64, "cublasD");
  get(blas.fp32, "cublasS");
  opened.reason = library.reason();
  return opened;
}

Opened<Solver> open_solver() {
  Opened<Solver> opened;
  Solver& solver = opened.table;
  Loaded library(fmt::format("libcusolver.so.{}", CUSOLVER_VER_MAJOR));
  library.get(solver.create, "cusolverDnCreate");
  library.get(solver.destroy, "cusolverDnDestroy");
  library.get(solver.version, "cusolverGetVersion");
  library.get(solver.set_stream, "cusolverDnSetStream");
  library.get(solver.create_params, "cusolverDnCreateParams");
  library.get(solver.destroy_params, "cusolverDnDestroyParams");
  library.get(solver.syevd_size, "cusolverDnXsyevd_bufferSize");
  library.get(solver.syevd, "cusolverDnXsyevd");
  library.get(solver.geqrf_size, "cusolverDnXgeqrf_bufferSize");
  library.get(solver.geqrf, "cusolverDnXgeqrf");
  opened.reason = library.reason();
  return opened;
}

std::string of_runtime() {
  const std::string runtime = pending();
  return runtime.empty() ? "" : "; CUDA: " + runtime;
}

}  // namespace

Result<const Blas*> blas() {
  static const Opened<Blas> opened = open_blas();
  return opened.result();
}

Result<const Solver*> solver() {
  static const Opened<Solver> opened = open_solver();
  return opened.result();
}

void check_blas(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string runtime = of_runtime();
  throw CaseError(fmt::format("{} failed (cuBLAS: {}{})", what,
                              std::get<const Blas*>(blas())->words(status), runtime));
}

void check_solver(cusolverStatus_t status, const std::string& what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  throw CaseError(fmt::format("{} failed (cuSOLVER: status {}{})", what, static_cast<int>(status),
                              of_runtime()));
}

}  // namespace assay::cuda
