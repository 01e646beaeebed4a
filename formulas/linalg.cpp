// Kernels of data analysis ("syrk:n262144d250") and of the machine's ceilings ("triad_n1000000").
#include <fmt/format.h>

#include <cmath>

#include "core/base/numbers.hpp"
#include "core/result/formula.hpp"

namespace assay::formula {
namespace {

Fields linalg_amounts(const Operation& operation) {
  const std::size_t colon = operation.descriptor.find(':');
  const double e = element_bytes(operation.setting("precision")).input;
  if (colon == std::string::npos || e == 0) return {};
  const std::string kernel = operation.descriptor.substr(0, colon);
  Fields all = parse_fields(operation.descriptor.substr(colon + 1));
  const double n = value(all, "n", 0), d = value(all, "d", 0), k = value(all, "k", 0), w = d + 1;
  const auto amounts = [&](double flops, double bytes) {
    all["flops"] = flops;
    all["bytes"] = bytes;
    return all;
  };
  if (kernel == "syrk") return amounts(n * d * w, e * (n * d + d * d));
  if (kernel == "moments") return amounts(n * d * w, e * (n * d + d) + 8 * (d + d * d));
  if (kernel == "eigh") return amounts(9 * d * d * d, e * (2 * d * d + d));
  if (kernel == "qr") return amounts(2 * d * d * n - 2 * d * d * d / 3, e * (n * d + d * d));
  if (kernel == "kmeans_assign")
    return amounts((2 * k + 1) * n * d, e * (n + k) * d + 4 * n + 8 * (k * d + k + 1));
  if (kernel == "hinge") return amounts(4 * n * w, e * (n * d + 2 * n + w + 1) + 8 * (4 + w));
  if (kernel == "hinge_hessian") return amounts(n * w * (d + 2) / 2, e * n * w + 8 * w * w);
  return {};
}

Fields stream_amounts(const Operation& operation) {
  const std::string precision = operation.setting("precision");
  const std::size_t at = operation.descriptor.rfind("_n");
  if (at == std::string::npos) return {};
  const std::string kernel = operation.descriptor.substr(0, at);
  const double n = parse_number<double>(operation.descriptor.substr(at + 2)).value_or(0),
               array = n * (precision == "fp32" ? 4 : 8);
  const auto amounts = [n](double flops, double bytes) {
    return Fields{{"n", n}, {"flops", flops}, {"bytes", bytes}};
  };
  if (kernel == "copy") return amounts(0, 2 * array);
  if (kernel == "scale") return amounts(n, 2 * array);
  if (kernel == "add") return amounts(n, 3 * array);
  if (kernel == "triad") return amounts(2 * n, 3 * array);
  if (kernel == "matmul") return amounts(2 * n * n * n, 0);
  if (kernel == "read") {  // as often as needed for 64 MiB
    const double passes = std::max(1.0, std::ceil(64 * 1048576.0 / array));
    Fields all = amounts(n * passes, array * passes);
    all["passes"] = passes;
    return all;
  }
  if (kernel == "latency") {  // whole cycles of at least 65536 loads, but for the last load
    Fields all = amounts(0, 0);
    all["loads"] = all["amounts/loads_per_s"] = n * std::ceil(65536 / n) - 1;
    all["working_set_bytes"] = 64 * n;
    return all;
  }
  if (kernel == "fma") {
    const double values = 1536,
                 each = precision == "int8"   ? 4
                        : precision == "bf16" ? 2
                                              : 1,
                 threads = parse_number<double>(operation.setting("threads")).value_or(1);
    Fields all = amounts(2 * each * n * values * threads, 0);
    all["values_per_thread"] = values;
    all["multiply_adds_per_update"] = each;
    return all;
  }
  return {};
}

/// Operations per cycle of one multiply-add unit, for each 32 bits of a vector. Matrix instructions
/// of Arm do twice the work of its dot products. 0: unknown.
double operations_per_32_bits(const std::string& precision, const std::string& instructions) {
  if (precision == "fp64") return 1;
  if (precision == "fp32") return 2;
  if (precision == "fp16") return 4;
  const double dots = precision == "bf16" ? 4 : precision == "int8" ? 8 : 0;
  return instructions.find("MMLA") == std::string::npos ? dots : 2 * dots;
}

/// A peak is at most clock x lanes x units. Cores have at most two units of 256 bits or more, or
/// four of 128 bits (optimization guides of Intel, AMD, Arm and Fujitsu). Tile units multiply and
/// add 512 pairs of bf16 or 1024 pairs of int8 a cycle. The clock was read close to the samples,
/// and may have been a little higher during them.
void check_peak(const Claims& claims) {
  const auto clock = claims.number("/executed/clock_hz"),
             bits = claims.number("/executed/vector_bits"),
             threads = claims.number("/executed/threads");
  if (!clock || !bits || !threads) return;
  const std::string precision = claims.parameter("precision"),
                    instructions = claims.text("/executed/implementation");
  const bool tiles = instructions.starts_with("AMX");
  const double units = *bits >= 256 ? 2 : 4,
               cycle = tiles ? (precision == "int8" ? 2048 : 1024)
                             : units * *bits / 32 * operations_per_32_bits(precision, instructions),
               peak = cycle * *clock * *threads, risen = 1.15;
  if (cycle == 0) return;
  claims.require(
      claims.number("/rates/flops_per_s").value_or(0) <= risen * peak, "/rates/flops_per_s",
      fmt::format("at most {:g} x {:.4g}", risen, peak),
      fmt::format("{:g} threads x {:g} operations a cycle x {:.4g} Hz", *threads, cycle, *clock));
}

const OperationFormula of_linalg("linalg", linalg_amounts), of_stream("stream", stream_amounts);
const BenchmarkFormula of_peaks("stream", check_peak);

}  // namespace
}  // namespace assay::formula
