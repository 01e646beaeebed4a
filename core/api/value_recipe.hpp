#pragma once
// The recipe of the random values of one tensor (core/api/random.hpp). Kernels take it by value;
// nvcc compiles this header, so it includes no other header of Assay.

#include <cstdint>

namespace assay {

struct ValueRecipe {
  enum class Form { integer, fixed, fixed_fp64, fp64, fp32, bf16, fp16, fp8 };
  Form form = Form::fp64;
  bool magnitudes = false;
  int bits = 0;  ///< of fixed-point values, and of the significands of fp8
  std::uint32_t key[2] = {}, rank = 0;
  double low = 0, factor = 1;           ///< the least integer; of Values::scaled()
  std::uint64_t count = 0;              ///< of different integers
  std::uint64_t groups = 1;             ///< of Values::in_groups()
  std::uint64_t width = 1, rows = 1;    ///< of Values::in_rows()
  const unsigned char* kept = nullptr;  ///< by row, whether it is kept; null: all are
};

}  // namespace assay
