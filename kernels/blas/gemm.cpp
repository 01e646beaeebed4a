// Matrix multiplication by CBLAS.

#include "kernels/gemm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/blas/backend.hpp"
#include "kernels/blas/cblas.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::blas {
namespace {

/// The names that CBLAS functions of a precision may have; a library has one of them. Empty if
/// there is none. Two functions are not used: OpenBLAS's cblas_bgemm takes its factors as bf16,
/// which is an integer or a floating-point argument, depending on how the library was compiled;
/// MKL's cblas_gemm_s8u8s32 takes additional offsets.
std::vector<std::string> list_names(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return {"cblas_dgemm"};
    case Precision::fp32:
      return {"cblas_sgemm"};
    case Precision::bf16_fp32:  // OpenBLAS, MKL
      return {"cblas_sbgemm", "cblas_gemm_bf16bf16f32"};
    case Precision::fp16_fp32:  // OpenBLAS, MKL
      return {"cblas_shgemm", "cblas_gemm_f16f16f32"};
    case Precision::tf32:
    case Precision::bf16:
    case Precision::fp16:
    case Precision::int8:
    case Precision::fp8_e4m3:
    case Precision::fp8_e5m2:
      break;
  }
  return {};
}

template <class Int, class Scalar>
class BlasGemm final : public BlasOperation {
 public:
  BlasGemm(const GemmProblem& problem, const std::string& name, void* function, int threads)
      : BlasOperation(problem.tensors(), threads),
        problem_(problem),
        call_(reinterpret_cast<GemmFunction<Int, Scalar, void>>(function)) {
    execution_.algorithm = "direct";
    execution_.implementation = fmt::format("{} {}", library().version(), name);
    execution_.storage = std::string(assay::name(problem.precision()));
    // The bounds of fp32 exclude tf32 and bf16, and integers come out exactly, so an ok row proves
    // the arithmetic. The arithmetic of products of 16-bit inputs is unknown.
    const bool shown = !is_mixed(problem.precision());
    execution_.compute = shown ? execution_.storage : "";
    execution_.accumulate = std::string(assay::name(format(problem.precision()).accumulator));
    execution_.evidence = shown ? "numerical" : "requested";
    execution_.layout = "columns";
  }

  void run(Stream&) override {
    const GemmShape& s = problem_.shape();
    const auto matrix = [&](std::size_t i, std::int64_t elements, std::int64_t batch) {
      return data<std::byte>(i) +
             static_cast<std::size_t>(batch * elements) * size_of(arguments_[i].type);
    };
    const auto as_int = [](std::int64_t value) { return static_cast<Int>(value); };
    for (std::int64_t batch = 0; batch < s.batch; ++batch)
      call_(column_major, s.ta ? transpose : no_transpose, s.tb ? transpose : no_transpose,
            as_int(s.m), as_int(s.n), as_int(s.k), static_cast<Scalar>(problem_.alpha()),
            matrix(0, s.lda * s.a_columns(), batch), as_int(s.lda),
            matrix(1, s.ldb * s.b_columns(), batch), as_int(s.ldb),
            static_cast<Scalar>(problem_.beta()), matrix(2, s.ldc * s.n, batch), as_int(s.ldc));
  }

 private:
  GemmProblem problem_;
  GemmFunction<Int, Scalar, void> call_;
};

/// Why the extents of the problem do not fit the library's integers; "" if they do.
std::string why_not_extents(const GemmShape& s) {
  if (library().wide()) return "";
  for (const auto& [field, value] : {std::pair{"m", s.m},
                                     {"n", s.n},
                                     {"k", s.k},
                                     {"lda", s.lda},
                                     {"ldb", s.ldb},
                                     {"ldc", s.ldc}})
    if (value > std::numeric_limits<std::int32_t>::max())
      return fmt::format(
          "{} is {}, but {} has 32-bit integers (LP64). Use a library with 64-bit ones.", field,
          value, library().file());
  return "";
}

Result<std::unique_ptr<Operation>> make_gemm(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const GemmProblem& gemm = problem_cast<GemmProblem>(problem);
  if (auto why = refuse_algorithm(options, "blas", {"direct"}, "gemm")) return std::move(*why);
  const std::vector<std::string> names = list_names(gemm.precision());
  if (names.empty())
    return Unsupported{fmt::format(
        "blas calls no function of CBLAS for {} (it calls those for fp64, fp32 and, in some "
        "libraries, bf16_fp32 and fp16_fp32). Use one of these.",
        name(gemm.precision()))};
  if (std::string why = why_not_extents(gemm.shape()); !why.empty())
    return Unsupported{std::move(why)};
  const int threads = std::max(1, options.threads);
  if (threads > 1 && !library().is_threaded())
    return Unsupported{
        fmt::format("{} computes with one thread (it has no function that is known to set their "
                    "number, and does not follow OpenMP's). Use --threads 1.",
                    library().file())};
  for (const std::string& name : names)
    if (void* const function = library().function(name))
      return make_own<BlasGemm>(gemm.precision(), gemm, name, function, threads);
  return Unsupported{library().why_not(names.front())};
}

const Maker add_gemm{makers(), problem_kind<GemmProblem>(), &make_gemm, {"direct"}};

}  // namespace
}  // namespace assay::blas
