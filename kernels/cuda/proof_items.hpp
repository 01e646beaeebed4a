#pragma once
// The items (item.hpp) that compute parts of references (core/api/prover.hpp) with the code of a
// formula (core/api/formula.hpp).

#include "core/api/expected.hpp"
#include "kernels/concat/formula_items.hpp"
#include "kernels/cuda/data_items.hpp"

namespace assay::cuda {

/// core/api/precision.hpp's DataType.
enum class Format { fp64, fp32, bf16, fp16, s32, s8, u8, fp8_e4m3, fp8_e5m2 };

// Code that a device calls instead of inlining it. Every formula reads its inputs in several
// places; copying this code into each place tripled the time of nvcc.
#if defined(__CUDACC__)
#define ASSAY_CALLED_ITEM __host__ __device__ __noinline__ inline
#else
#define ASSAY_CALLED_ITEM inline
#endif

/// Element `at` of values in memory.
ASSAY_CALLED_ITEM double value_at(const void* data, Format format, std::int64_t at) {
  switch (format) {
    case Format::fp64:
      return decode_value(static_cast<const double*>(data)[at]);
    case Format::fp32:
      return decode_value(static_cast<const float*>(data)[at]);
    case Format::bf16:
      return decode_value(static_cast<const __nv_bfloat16*>(data)[at]);
    case Format::fp16:
      return decode_value(static_cast<const __half*>(data)[at]);
    case Format::s32:
      return decode_value(static_cast<const std::int32_t*>(data)[at]);
    case Format::s8:
      return decode_value(static_cast<const std::int8_t*>(data)[at]);
    case Format::u8:
      return decode_value(static_cast<const std::uint8_t*>(data)[at]);
    case Format::fp8_e4m3:
      return decode_value(static_cast<const Fp8E4m3*>(data)[at]);
    case Format::fp8_e5m2:
      return decode_value(static_cast<const Fp8E5m2*>(data)[at]);
  }
  return 0;
}

/// Element `at` of the values of a recipe.
ASSAY_CALLED_ITEM double random_value(ValueRecipe recipe, std::int64_t at) {
  double values[4];
  philox::make_block(recipe, static_cast<std::uint64_t>(at / 4), values);
  return values[at % 4];
}

/// A tensor of any type, or random values that no memory holds.
struct AnyTensor {
  const void* data = nullptr;  ///< null: the values of the recipe
  Format format = Format::fp64;
  Places place;
  ValueRecipe recipe;
  ASSAY_ITEM double operator()(std::int64_t i) const {
    return data == nullptr ? random_value(recipe, i) : value_at(data, format, place(i));
  }
};

/// round_to_format(): rounded once.
ASSAY_CALLED_ITEM double round_to_format(Format format, double value) {
  switch (format) {
    case Format::fp32:
      return static_cast<double>(static_cast<float>(value));
    case Format::bf16:
      return static_cast<double>(__bfloat162float(__double2bfloat16(value)));
    case Format::fp16:
      return static_cast<double>(__half2float(__double2half(value)));
    case Format::fp8_e4m3:
      return decode_value(store_fp8<Fp8E4m3>(value));
    case Format::fp8_e5m2:
      return decode_value(store_fp8<Fp8E5m2>(value));
    default:
      return value;  // integers are sums of integers
  }
}

/// The most inputs of the code of a formula.
template <class Code>
inline constexpr int most_inputs = 4;
template <>
inline constexpr int most_inputs<concat::Dst> = concat::Dst::most_inputs;

/// The arguments of the code of a formula.
template <class Code>
struct FormulaInputs {
  AnyTensor tensors[most_inputs<Code>];
  const double* table = nullptr;
  ASSAY_ITEM double operator()(int k, std::int64_t i) const { return tensors[k](i); }
};

/// Compares elements at + i, at + i + lanes, … of `count` with the code's expectations for first +
/// i, ….
template <class Code>
struct CompareLane {
  Code code;
  FormulaInputs<Code> in;
  AnyTensor output;
  double largest;  ///< of a result
  std::int64_t at, first, count, lanes;
  ElementComparison* to;
  ASSAY_ITEM void operator()(std::int64_t lane) const {
    ElementComparison comparison;
    for (std::int64_t i = lane; i < count; i += lanes) {
      const Expected want = code(in, in.table, first + i);
      const double value = output(at + i);
      const double target = want.max_bound != 0 || value == want.value
                                ? want.value
                                : round_to_format(output.format, want.value);
      comparison.add(first + i, value, target, !(std::fabs(value) <= largest), want);
    }
    to[lane] = comparison;
  }
};

// CUDA passes at most 4 KiB of arguments to a kernel: the largest of these, and 8 bytes of another
// argument.
static_assert(sizeof(CompareLane<concat::Dst>) <= 4088);

/// The next stage of a comparison: one of up to rows_of_stage comparison.
struct JoinComparisons {
  const ElementComparison* from;
  ElementComparison* to;
  std::int64_t count;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    ElementComparison all;
    const std::int64_t left = count - i * rows_of_stage,
                       here = left < rows_of_stage ? left : rows_of_stage;
    for (std::int64_t j = 0; j < here; ++j) all.add(from[i * rows_of_stage + j]);
    to[i] = all;
  }
};

/// The expected value of one element.
template <class Code>
struct ExpectElement {
  Code code;
  FormulaInputs<Code> in;
  const std::int64_t* indices;
  Expected* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[i] = code(in, in.table, indices[i]); }
};

/// The sums of the code's terms over a part of a channel of tensors [images, channels, plane]:
/// [part][channel][term], which SumStage adds.
template <class Code>
struct SumChannelPart {
  Code code;
  FormulaInputs<Code> in;
  std::int64_t images, channels, plane, parts;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t channel = i % channels;
    double sums[Code::terms] = {}, terms[Code::terms];
    for (std::int64_t j = i / channels; j < images * plane; j += parts) {
      code(in, in.table, (j / plane * channels + channel) * plane + j % plane, terms);
      for (int t = 0; t < Code::terms; ++t) sums[t] += terms[t];
    }
    for (int t = 0; t < Code::terms; ++t) to[i * Code::terms + t] = sums[t];
  }
};

}  // namespace assay::cuda
