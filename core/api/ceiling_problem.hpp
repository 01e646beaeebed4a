#pragma once
// Measurements of the processor's ceilings. A benchmark's program compares its rows with them
// (core/program/ceiling_probe.hpp).

#include <nlohmann/json.hpp>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

/// A short measurement of one ceiling. execution().numbers of the operation has the work of one
/// run: "flops" and "bytes".
class CeilingProblem final : public ProblemOf<CeilingProblem> {
 public:
  static constexpr const char* kind_name = "ceiling";
  static constexpr const char* kind_version = "";  ///< core/api: the interface version covers it
  enum class Kernel {
    fma,  ///< multiply-adds on registers, in `precision`
    read  ///< each thread reads an fp64 array that fits its L1 data cache
  };
  CeilingProblem(Kernel kernel, Precision precision, int threads)
      : kernel_(kernel), precision_(precision), threads_(threads) {}
  std::string canonical() const override { return kernel_ == Kernel::fma ? "fma" : "read"; }
  nlohmann::json json() const override { return {{"kernel", canonical()}, {"threads", threads_}}; }
  double flops() const override { return 0; }
  double bytes() const override { return 0; }
  Kernel kernel() const { return kernel_; }
  Precision precision() const { return precision_; }
  int threads() const { return threads_; }

 private:
  Kernel kernel_;
  Precision precision_;
  int threads_;
};

/// The backend that measures the ceilings of the processor, for the rows of all backends: the one
/// that makes this problem (kernels/<backend>/ceiling.cpp).
const char* ceiling_backend();
/// True if ASSAY_<BACKEND>_TARGET limits the instructions of ceiling_backend(). Its ceilings then
/// bound its own rows alone, since other backends may use more.
bool is_ceiling_limited();

}  // namespace assay
