// A fake cuBLASLt, which multiplies on the host what the descriptors say, in fp64; in the compute
// mode of tf32, operands of 11 digits. For use with LD_PRELOAD, over the fake CUDA runtime. Its
// algorithm stores the parts of a sum in the type of the result if that is allowed; it wants the
// alignment that it was promised. Products of 8-bit floating types are added as on a Hopper
// (docs/method-gemm.md).
//
//   FAKE_CUBLASLT_NO_ALGORITHM=1   the heuristic finds nothing
//   FAKE_CUBLASLT_ORDER=N          half of the calls make sums larger by 2^-N of themselves, as
//                                  threads do that add to one place when they are ready
//   FAKE_CUBLASLT_FP8=FAULT        swapped (each matrix read in the other one's format), unscaled,
//                                  scaled_once (by A's alone), transposed (A is not), 7_bits (of a
//                                  sum), fast (sums are promoted nowhere: no fault)
//   FAKE_PROMOTES_TF32=1           fp32 is computed where tf32 was asked for
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "core/api/precision.hpp"
#include "tests/cuda/fake/submitted.hpp"
#include "tests/cuda/fake/tf32.hpp"

namespace {

using assay::DataType;

constexpr std::size_t workspace = 4096;

struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  const float *scale_a = nullptr, *scale_b = nullptr;  ///< in the memory of the GPU
  std::int8_t fast_sums = 1;  ///< not the library's default: it is to be set
};
struct Layout {
  DataType type;
  std::uint64_t rows, columns;
  std::int64_t ld, offset = 0;
  std::int32_t batch = 1;
};
/// The alignments of a, b, c and d.
using Alignments = std::array<std::uint32_t, 4>;
struct Preference {
  std::size_t most = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  Alignments alignments{256, 256, 256, 256};
};
/// The content of a choice, in cublasLtMatmulAlgo_t.
struct Algorithm {
  bool stores_parts = false;  ///< of sums, in the type of the result
  Alignments alignments{};
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

DataType type_of(cudaDataType_t type) {
  static const std::map<cudaDataType_t, DataType> types{
      {CUDA_R_64F, DataType::fp64},         {CUDA_R_32F, DataType::fp32},
      {CUDA_R_16F, DataType::fp16},         {CUDA_R_16BF, DataType::bf16},
      {CUDA_R_32I, DataType::s32},          {CUDA_R_8I, DataType::s8},
      {CUDA_R_8F_E4M3, DataType::fp8_e4m3}, {CUDA_R_8F_E5M2, DataType::fp8_e5m2}};
  return types.at(type);
}

const Description& of(cublasLtMatmulDesc_t description) {
  return *reinterpret_cast<const Description*>(description);
}
const Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<const Layout*>(layout); }

/// alpha or beta.
double factor(cudaDataType_t type, const void* at) {
  if (type == CUDA_R_64F) return *static_cast<const double*>(at);
  return type == CUDA_R_32I ? *static_cast<const std::int32_t*>(at)
                            : static_cast<double>(*static_cast<const float*>(at));
}

bool is_fp8(const Layout& layout) {
  return layout.type == DataType::fp8_e4m3 || layout.type == DataType::fp8_e5m2;
}

/// cuBLAS documentation, "cublasLtMatmul": fp8 on GPUs of compute capability 8.9 and 9.0. Both
/// operands lie along the sum, in pieces of 16 bytes; no product of two of fp8_e5m2.
bool supports_fp8(const Description& own, const Layout& a, const Layout& b, const Layout& d) {
  const auto whole = [](const Layout& of) {
    const auto size = static_cast<std::int64_t>(assay::size_of(of.type));
    return of.rows % 16 == 0 && of.columns % 16 == 0 && of.ld * size % 16 == 0;
  };
  return is_fp8(a) && is_fp8(b) && (a.type == DataType::fp8_e4m3 || b.type == DataType::fp8_e4m3) &&
         (d.type == DataType::bf16 || d.type == DataType::fp16 || d.type == DataType::fp32) &&
         own.compute == CUBLAS_COMPUTE_32F && own.scale == CUDA_R_32F && own.a == CUBLAS_OP_T &&
         own.b == CUBLAS_OP_N && whole(a) && whole(b) && whole(d);
}

bool fp8_fault(const char* name) {
  const char* const fault = std::getenv("FAKE_CUBLASLT_FP8");
  return fault != nullptr && std::strcmp(fault, name) == 0;
}

/// Sums of fp8 products on a Hopper: with 32 at once, the accumulator and they lose what lies below
/// 13 places behind the first digit of the largest. Each 128 products it goes to fp32.
class Fp8Sum {
 public:
  explicit Fp8Sum(bool fast) : fast_(fast), places_(fp8_fault("7_bits") ? 6 : 13) {}
  void add(double product) {
    terms_[count_++] = product;
    if (count_ == terms_.size()) step();
  }
  double value() {
    step();
    return static_cast<double>(promoted_) + terms_[0];
  }

 private:
  void step() {
    double largest = 0;
    for (std::size_t i = 0; i < count_; ++i) largest = std::max(largest, std::fabs(terms_[i]));
    const double unit = largest > 0 ? std::ldexp(1, std::ilogb(largest) - places_) : 1;
    double sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += std::trunc(terms_[i] / unit) * unit;
    const double last = sum != 0 ? std::ldexp(1, std::ilogb(sum) - places_) : 1;
    terms_[0] = std::trunc(sum / last) * last;
    count_ = 1;
    if (fast_ || ++steps_ % 4 != 0) return;
    promoted_ += static_cast<float>(terms_[0]);
    terms_[0] = 0;
  }
  bool fast_;
  int places_, steps_ = 0;
  std::array<double, 33> terms_{};  ///< the accumulator, then the products
  std::size_t count_ = 1;
  float promoted_ = 0;
};

/// One matrix of a batch, without what pads its columns.
std::vector<double> read(const Layout& layout, const void* data, std::int32_t batch) {
  const std::size_t size = assay::size_of(layout.type);
  std::vector<double> all(layout.rows * layout.columns);
  for (std::size_t j = 0; j < layout.columns; ++j)
    assay::decode(
        layout.type,
        static_cast<const char*>(data) + (static_cast<std::size_t>(batch * layout.offset) +
                                          j * static_cast<std::size_t>(layout.ld)) *
                                             size,
        std::span(all).subspan(j * layout.rows, layout.rows));
  return all;
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS_INVALID_VALUE";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Description{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t size) {
  auto* const own = reinterpret_cast<Description*>(description);
  const auto set = [&](auto& to) {
    if (size != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, value, size);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(own->a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(own->b);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return set(own->scale_a);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return set(own->scale_b);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return set(own->fast_sums);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t ld) {
  if (ld < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type_of(type), rows, columns, ld});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t size) {
  auto* const own = reinterpret_cast<Layout*>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof own->batch)
    std::memcpy(&own->batch, value, size);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof own->offset)
    std::memcpy(&own->offset, value, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t size) {
  auto* const own = reinterpret_cast<Preference*>(preference);
  void* to = &own->most;
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) to = &own->reductions;
  for (int i = 0; i < 4; ++i)
    if (attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i)
      to = &own->alignments[static_cast<std::size_t>(i)];
  if (size != (to == &own->most ? sizeof own->most : sizeof own->reductions))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = 0;
  const Description& own = of(description);
  // The rule is the real one's: integers along the sum alone.
  const bool integers = own.compute == CUBLAS_COMPUTE_32I;
  if (std::getenv("FAKE_CUBLASLT_NO_ALGORITHM") != nullptr ||
      (integers && (own.a != CUBLAS_OP_T || own.b != CUBLAS_OP_N)) ||
      ((is_fp8(of(a)) || is_fp8(of(b))) && !supports_fp8(own, of(a), of(b), of(d))) ||
      reinterpret_cast<Preference*>(preference)->most < workspace)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  results[0].workspaceSize = workspace;
  const auto& wanted = *reinterpret_cast<const Preference*>(preference);
  const Algorithm algorithm{(wanted.reductions & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) != 0,
                            wanted.alignments};
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a_data, cublasLtMatrixLayout_t a_layout,
                              const void* b_data, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c_data, cublasLtMatrixLayout_t c_layout, void* d_data,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen,
                              void* scratch, std::size_t bytes, cudaStream_t) {
  if (scratch == nullptr || bytes != workspace || c_data != d_data)
    return CUBLAS_STATUS_INVALID_VALUE;
  Algorithm algorithm;
  std::memcpy(static_cast<void*>(&algorithm), chosen, sizeof algorithm);
  const std::array<const void*, 4> data{a_data, b_data, c_data, d_data};
  for (std::size_t i = 0; i < data.size(); ++i)
    if (reinterpret_cast<std::uintptr_t>(data[i]) % algorithm.alignments[i] != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  const Description own = of(description);
  Layout a = of(a_layout), b = of(b_layout);
  const Layout d = of(d_layout), c = of(c_layout);
  if (fp8_fault("swapped")) std::swap(a.type, b.type);
  const bool fp8 = is_fp8(a), ta = own.a == CUBLAS_OP_T, tb = own.b == CUBLAS_OP_T;
  const std::size_t sum_over = ta ? a.rows : a.columns;
  if ((tb ? b.columns : b.rows) != sum_over || (ta ? a.columns : a.rows) != d.rows ||
      (tb ? b.rows : b.columns) != d.columns || a.batch != d.batch || b.batch != d.batch)
    return CUBLAS_STATUS_INVALID_VALUE;
  const double of_sum = factor(own.scale, alpha), of_c = factor(own.scale, beta);
  static std::atomic<std::size_t> calls = 0;
  const char* const order = std::getenv("FAKE_CUBLASLT_ORDER");
  const double in_order = order == nullptr || (++calls * 2654435761U >> 16) % 2 != 0
                              ? 1
                              : 1 + std::exp2(-std::atof(order));
  fake::submit([=] {
    double scale =
        fp8 && own.scale_a != nullptr && !fp8_fault("unscaled") ? double{*own.scale_a} : 1;
    if (fp8 && own.scale_b != nullptr && !fp8_fault("unscaled") && !fp8_fault("scaled_once"))
      scale *= double{*own.scale_b};
    const bool left_as_stored = ta && !(fp8 && fp8_fault("transposed"));
    for (std::int32_t batch = 0; batch < d.batch; ++batch) {
      std::vector<double> left = read(a, a_data, batch), right = read(b, b_data, batch);
      if (own.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && !fake::promotes_tf32())
        for (std::vector<double>* const operand : {&left, &right})
          for (double& value : *operand) value = fake::tf32(value);
      std::vector<double> before;
      if (of_c != 0) before = read(c, c_data, batch);
      std::vector<double> column(d.rows);
      for (std::size_t j = 0; j < d.columns; ++j) {
        for (std::size_t i = 0; i < d.rows; ++i) {
          double sum = 0;
          Fp8Sum short_sum(own.fast_sums != 0 || fp8_fault("fast"));
          for (std::size_t p = 0; p < sum_over; ++p) {
            if (algorithm.stores_parts && p == sum_over / 2) sum = assay::round_to(d.type, sum);
            const std::size_t at = left_as_stored ? i * a.rows + p : p * a.rows + i;
            const double product =
                left[at % left.size()] * right[tb ? p * b.rows + j : j * b.rows + p];
            if (fp8)
              short_sum.add(product);
            else
              sum += product;
          }
          if (fp8) sum = short_sum.value();
          column[i] =
              of_sum * scale * in_order * sum + (of_c != 0 ? of_c * before[j * d.rows + i] : 0);
        }
        assay::encode(d.type, column,
                      static_cast<char*>(d_data) + (static_cast<std::size_t>(batch * d.offset) +
                                                    j * static_cast<std::size_t>(d.ld)) *
                                                       assay::size_of(d.type));
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
