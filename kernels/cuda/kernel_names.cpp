#include "kernels/cuda/kernel_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace assay::cuda {
namespace {

constexpr std::size_t longest_name = 160;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Shapes of the tensor cores' instructions, m16n8k8 as "1688" behind the type of the sums, and the
// words of cuDNN, cuBLAS and CUTLASS: volta_fp16_s884cudnn_…, …_tensor16x8x16_…,
// cutlass_80_tensorop_…; names of kernels for sm_90 contain groups of warps, and those of cuBLAS
// since CUDA 12.8 the generator: nvjet_hsh_256x128_64x4_…. The word "tensor" alone is no evidence:
// scalePackedTensor_kernel uses no tensor cores.
constexpr std::array tensor_words{"s884",     "h884",      "s1688",     "h1688",  "s16816",
                                  "h16816",   "i8816",     "i16832",    "i16864", "tensorop",
                                  "tensor8x", "tensor16x", "warpgroup", "wgmma",  "hmma",
                                  "imma",     "tf32",      "nvjet"};

/// The tensor-core kernels of fp64 multiply and add like every fp64 unit:
/// cutlass_80_tensorop_d884gemm_… and the larger shapes of sm_90,
/// sm80_xmma_gemm_f64f64_f64f64_f64_…_tensor8x8x4_kernel. So they are not a different arithmetic.
constexpr std::array fp64_words{"d884", "d1684", "d1688", "d16816", "f64f64"};

bool has_any(const std::string& text, std::span<const char* const> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

bool uses_tensor_cores(const std::string& text) {
  return !has_any(text, fp64_words) && has_any(text, tensor_words);
}

/// These kernels of cuDNN split sums and add the parts in the type of the result: on an H100, their
/// fp16 gradients were wrong for integers that fp32 holds exactly. CUTLASS' ReduceSplitK and
/// cuBLASLt's splitKreduce_kernel add in fp32, and were exact.
bool adds_parts(const std::string& text) {
  return text.find("split_k_kernel") != std::string::npos ||
         text.find("wgrad_image_first_layer") != std::string::npos;
}

/// CUTLASS names the type in which a reduction stores parts, and the type in which it adds them.
bool adds_in_fp32(const std::string& text) {
  return text.find("reducesplitk") != std::string::npos &&
         text.find("reduceadd<float, float,") != std::string::npos;
}

/// The name without the parameters. They begin at the first parenthesis that does not belong to
/// "(anonymous namespace)" or to a cast in a template argument, as in "kernel<(int)4>(float*)".
std::string strip_parameters(const std::string& name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth == 0 && name.compare(i, 11, "(anonymous ") != 0)
      return name.substr(0, i);
  }
  return name;
}

}  // namespace

Family find_family(const std::string& algorithm) {
  const std::string text = lower(algorithm);
  if (text.find("winograd") != std::string::npos) return Family::winograd;
  if (text.find("fft") != std::string::npos) return Family::fft;
  return Family::direct;
}

std::string why_not_arithmetic(const KernelMeaning& seen, Precision precision) {
  if (precision == Precision::fp32 && seen.tensor_cores)
    return "fp32 was computed on tensor cores, in another arithmetic (" + seen.names + ")";
  if (precision == Precision::tf32 && !seen.tensor_cores)
    return "tensor cores were not used, so this is fp32 and no tf32 (" + seen.names + ")";
  return "";
}

KernelMeaning read_kernels(const std::vector<std::string>& kernels) {
  KernelMeaning seen;
  for (const std::string& kernel : kernels) {
    const std::string text = lower(kernel);
    if (seen.family == Family::direct) seen.family = find_family(kernel);
    seen.tensor_cores |= uses_tensor_cores(text);
    seen.adds_parts |= adds_parts(text);
    seen.adds_in_fp32 |= adds_in_fp32(text);
    std::string name = strip_parameters(kernel);
    if (name.size() > longest_name) name = name.substr(0, longest_name) + "…";
    seen.names += (seen.names.empty() ? "" : " + ") + name;
  }
  return seen;
}

}  // namespace assay::cuda
