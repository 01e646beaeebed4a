// Matrix multiplication by cuBLASLt, which stores matrices by columns as BLAS does.

#include "kernels/cuda/gemm.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <optional>

#include "core/base/error.hpp"
#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "kernels/oracle/refused_algorithm.hpp"
#include "kernels/oracle/sums.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// Memory that an algorithm may use: NVIDIA's advice for Hopper, and enough for other GPUs.
constexpr std::size_t most_workspace = std::size_t{32} << 20;
/// The alignment of the memory of every matrix. cuBLASLt assumes 256 by default. Parts of a
/// network's parameters do not satisfy that, because they begin at cache lines.
constexpr std::uint32_t least_alignment = 64;

/// The factors of matrices of 8-bit floating types, which networks choose by the scales of their
/// data; alpha undoes them. They are powers of two, so nothing is rounded. Their product is not 1,
/// so a result without them is incorrect.
constexpr float scale_of_a = 0.5F, scale_of_b = 0.25F;

void check_lt(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string runtime = pending();
  throw CaseError(fmt::format("{} failed (cuBLASLt: {}{})", what, cublasLtGetStatusString(status),
                              runtime.empty() ? "" : "; CUDA: " + runtime));
}

/// One of cuBLASLt's objects.
template <class T, cublasStatus_t (*destroy)(T)>
class LtOwned {
 public:
  LtOwned() = default;
  ~LtOwned() {
    if (object_ != nullptr) destroy(object_);
  }
  LtOwned(const LtOwned&) = delete;
  LtOwned& operator=(const LtOwned&) = delete;
  T* out() { return &object_; }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
};
using Handle = LtOwned<cublasLtHandle_t, &cublasLtDestroy>;
using Description = LtOwned<cublasLtMatmulDesc_t, &cublasLtMatmulDescDestroy>;
using Matrix = LtOwned<cublasLtMatrixLayout_t, &cublasLtMatrixLayoutDestroy>;
using Preference = LtOwned<cublasLtMatmulPreference_t, &cublasLtMatmulPreferenceDestroy>;

/// The types that are requested from cuBLASLt for a precision.
struct Types {
  cublasComputeType_t compute;
  cudaDataType_t scale;  ///< of alpha and beta
};
Types choose_types(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return {CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case Precision::int8:
      return {CUBLAS_COMPUTE_32I, CUDA_R_32I};
    case Precision::tf32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
    default:  // without a math mode of its own: never in tf32
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
}

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return CUDA_R_64F;
    case DataType::fp32:
      return CUDA_R_32F;
    case DataType::bf16:
      return CUDA_R_16BF;
    case DataType::fp16:
      return CUDA_R_16F;
    case DataType::s32:
      return CUDA_R_32I;
    case DataType::s8:
      return CUDA_R_8I;
    case DataType::fp8_e4m3:
      return CUDA_R_8F_E4M3;
    case DataType::fp8_e5m2:
      return CUDA_R_8F_E5M2;
    case DataType::u8:
      break;
  }
  throw std::logic_error("no matrix of this backend has this type");
}

/// alpha and beta in the type that cuBLASLt requires.
struct Factor {
  explicit Factor(double value)
      : fp64(value), fp32(static_cast<float>(value)), s32(static_cast<std::int32_t>(value)) {}
  const void* as(cudaDataType_t type) const {
    if (type == CUDA_R_64F) return &fp64;
    return type == CUDA_R_32I ? static_cast<const void*>(&s32) : &fp32;
  }
  double fp64;
  float fp32;
  std::int32_t s32;
};

class LtGemm final : public BoundOperation {
 public:
  explicit LtGemm(const GemmProblem& problem)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        types_(choose_types(problem.precision())),
        alpha_(problem.alpha() /
               (is_fp8(problem.precision()) ? double{scale_of_a} * double{scale_of_b} : 1)),
        beta_(problem.beta()) {
    const GemmShape& s = problem.shape();
    if (problem.precision() == Precision::int8)
      arguments_[1].type = DataType::s8;  // signed bytes by signed ones
    check_lt(cublasLtCreate(handle_.out()), "starting cuBLASLt");
    check_lt(cublasLtMatmulDescCreate(description_.out(), types_.compute, types_.scale),
             "describing a product");
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, s.ta);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, s.tb);
    layout(0, s.a_rows(), s.a_columns(), s.lda);
    layout(1, s.b_rows(), s.b_columns(), s.ldb);
    layout(2, s.m, s.n, s.ldc);
    if (is_fp8(problem.precision())) scale();
    execution_.algorithm = "direct";
    execution_.implementation = fmt::format("cuBLASLt {}", cublasLtGetVersion());
    execution_.storage = std::string(
        name(problem.precision() == Precision::tf32 ? Precision::fp32 : problem.precision()));
    execution_.compute = std::string(name(format(problem.precision()).arithmetic));
    execution_.layout = "columns";
    const bool vectors = problem.precision() == Precision::fp64 ||
                         problem.precision() == Precision::fp32 ||
                         problem.precision() == Precision::int8;
    execution_.accumulate = vectors ? std::string(name(format(problem.precision()).accumulator))
                            : is_fp8(problem.precision()) ? sums::truncating_fp22
                                                          : sums::truncating_fp32;
    execution_.evidence = vectors ? "numerical" : "requested";
  }

  /// Chooses the algorithm. Returns why there is none, or nothing.
  std::optional<std::string> choose() {
    Preference preference;
    check_lt(cublasLtMatmulPreferenceCreate(preference.out()), "making a preference");
    limit(preference);
    cublasLtMatmulHeuristicResult_t proposal{};
    int count = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), description_.get(), layouts_[0].get(), layouts_[1].get(), layouts_[2].get(),
        layouts_[2].get(), preference.get(), 1, &proposal, &count);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : proposal.state;
    const bool fp8 = is_fp8(problem_.precision());
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (fp8 && status == CUBLAS_STATUS_INVALID_VALUE))
      return fmt::format("cuBLASLt has no algorithm for it ({}{})", cublasLtGetStatusString(status),
                         fp8 ? "; GPUs multiply fp8 where both matrices lie along the sum (ta), in "
                               "extents that are multiples of 16"
                             : "");
    check_lt(status, "asking cuBLASLt for an algorithm");
    algorithm_ = proposal.algo;
    execution_.workspace_bytes = proposal.workspaceSize;
    if (execution_.workspace_bytes == 0) return std::nullopt;
    arguments_.push_back(bytes_tensor("workspace", Role::workspace, execution_.workspace_bytes));
    return std::nullopt;
  }

  /// Runs once, with the kernels recorded. Returns why the run was not the requested one, or
  /// nothing.
  std::optional<std::string> prove(CudaDevice& device) {
    const std::optional<KernelMeaning> seen = trial_run(device, *this, problem_.canonical());
    if (!seen) return std::nullopt;
    execution_.implementation += ": " + seen->names;
    const std::string why = note_kernels(*seen, problem_.precision(), execution_);
    return why.empty() ? std::nullopt : std::optional("cuBLASLt: " + why);
  }

  void run(Stream& stream) override {
    check_lt(cublasLtMatmul(handle_.get(), description_.get(), alpha_.as(types_.scale), data_[0],
                            layouts_[0].get(), data_[1], layouts_[1].get(), beta_.as(types_.scale),
                            data_[2], layouts_[2].get(), data_[2], layouts_[2].get(), &algorithm_,
                            data_.size() > 3 ? data_[3] : nullptr, execution_.workspace_bytes,
                            cuda_stream(stream)),
             problem_.canonical());
  }

 private:
  /// Limits the choice of an algorithm.
  void limit(const Preference& preference) const {
    // By default cuBLASLt may store the parts of a split sum in the type of the result, which
    // rounds them to 16 bits.
    const std::uint32_t reductions = size_of(arguments_[2].type) == 2
                                         ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                         : CUBLASLT_REDUCTION_SCHEME_MASK;
    for (const auto& [attribute, value, size] :
         {std::tuple<cublasLtMatmulPreferenceAttributes_t, const void*, std::size_t>{
              CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most_workspace, sizeof most_workspace},
          {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
          {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &least_alignment, sizeof least_alignment},
          {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &least_alignment, sizeof least_alignment},
          {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &least_alignment, sizeof least_alignment},
          {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &least_alignment, sizeof least_alignment}})
      check_lt(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, value, size),
               "limiting the choice of an algorithm");
  }

  void transpose(cublasLtMatmulDescAttributes_t attribute, bool yes) {
    const cublasOperation_t operation = yes ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_lt(
        cublasLtMatmulDescSetAttribute(description_.get(), attribute, &operation, sizeof operation),
        "describing a transpose");
  }

  /// Scales are in the memory of the GPU. Fast accumulation is off: sums are promoted to fp32
  /// during the sum, as far as the GPU does that.
  void scale() {
    const float scales[] = {scale_of_a, scale_of_b};
    scales_ = gpu_memory(sizeof scales, "scales");
    copy_to_gpu(scales_.get(), scales, sizeof scales, "copying the scales to the GPU");
    const float* const of_a = static_cast<const float*>(scales_.get());
    const float* const of_b = of_a + 1;
    constexpr std::int8_t fast = 0;
    for (const auto& [attribute, value, size] :
         {std::tuple<cublasLtMatmulDescAttributes_t, const void*, std::size_t>{
              CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &of_a, sizeof of_a},
          {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &of_b, sizeof of_b},
          {CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast}})
      check_lt(cublasLtMatmulDescSetAttribute(description_.get(), attribute, value, size),
               "describing the scales of fp8");
  }

  void layout(std::size_t i, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    const std::string what = fmt::format("describing matrix {}", arguments_[i].name);
    check_lt(cublasLtMatrixLayoutCreate(layouts_[i].out(), cuda_type(arguments_[i].type),
                                        static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), ld),
             what);
    const auto count = static_cast<std::int32_t>(problem_.shape().batch);
    const std::int64_t stride = ld * columns;
    for (const auto& [attribute, value, size] :
         {std::tuple<cublasLtMatrixLayoutAttribute_t, const void*, std::size_t>{
              CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count},
          {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride}})
      check_lt(cublasLtMatrixLayoutSetAttribute(layouts_[i].get(), attribute, value, size), what);
  }

  GemmProblem problem_;
  Types types_;
  Factor alpha_, beta_;
  Handle handle_;
  Description description_;
  std::array<Matrix, 3> layouts_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::shared_ptr<void> scales_;
};

Result<std::unique_ptr<Operation>> make_gemm(Device& place, const Problem& what,
                                             const Options& options, Communicator&) {
  const GemmProblem& problem = problem_cast<GemmProblem>(what);
  if (auto why = refuse_algorithm(options, "cuda", {"direct"}, "gemm")) return std::move(*why);
  return make_product(static_cast<CudaDevice&>(place), problem);
}

const Maker add_gemm{makers(), problem_kind<GemmProblem>(), &make_gemm, {"direct"}};

}  // namespace

Result<std::unique_ptr<Operation>> make_product(CudaDevice& device, const GemmProblem& problem) {
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  if (problem.shape().batch > INT32_MAX)
    return Unsupported{"cuBLASLt counts a batch in 32 bits. Use a smaller batch."};
  // A GPU without bf16 has no bf16_fp32 either.
  const Precision units = format(problem.precision()).arithmetic;
  if (std::string why = why_not_precision(units, device.facts()); !why.empty())
    return Unsupported{std::move(why)};
  auto product = std::make_unique<LtGemm>(problem);
  std::optional<std::string> why = product->choose();
  if (!why) why = product->prove(device);
  if (why)
    return Unsupported{
        fmt::format("{} ({} {})", *why, name(problem.precision()), problem.canonical())};
  return product;
}

}  // namespace assay::cuda
