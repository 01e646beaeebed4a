#include "kernels/onednn/implementation.hpp"

#include <fmt/format.h>

namespace assay::onednn {

std::string compute_type(Precision precision, const std::string& implementation, bool gpu) {
  // choose() sets fpmath_mode::strict, which forbids oneDNN to lower the precision of fp32. This
  // contract is the evidence, whatever the name.
  if (precision == Precision::fp32) return std::string(name(precision));
  if (gpu) return "";
  // These names show instructions that multiply bytes: "avx512_core_vnni", "avx2_vnni",
  // "avx512_core_amx". Other names do not tell whether bytes are widened first, or summed in 16
  // bits.
  if (precision == Precision::int8)
    return implementation.find("vnni") != std::string::npos ||
                   implementation.find("amx") != std::string::npos
               ? std::string(name(precision))
               : "";
  if (implementation.starts_with("ref")) return std::string(name(DataType::fp32));
  // "jit_bf16:avx512_core" emulates bf16 by fp32 instructions, so the instruction set after the
  // colon decides.
  const std::string isa = implementation.substr(implementation.rfind(':') + 1);
  const bool amx = isa.find("amx") != std::string::npos;
  if (precision == Precision::bf16) {
    if (amx || isa.find("avx512_core_bf16") != std::string::npos ||
        isa.find("avx512_core_fp16") != std::string::npos)
      return "bf16";
    return isa.find("avx") != std::string::npos ? "fp32" : "";
  }
  if (isa.find("amx_fp16") != std::string::npos) return "fp16";
  return isa.find("avx") != std::string::npos
             ? "fp32"
             : "";  // avx512_core_fp16 and avx2_vnni_2 widen to fp32 first
}

std::string why_not_reference(const std::string& implementation, double flops, int threads) {
  constexpr double rate = 5e7, most_seconds = 10;
  const double seconds = flops / (rate * threads);
  if (!implementation.starts_with("ref") || seconds < most_seconds) return "";
  return fmt::format(
      "onednn has its reference loops alone for this ({}), of which one run would take about "
      "{:.0f} "
      "s",
      implementation, seconds);
}

}  // namespace assay::onednn
