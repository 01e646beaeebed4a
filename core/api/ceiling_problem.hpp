#pragma once
// What the backend `native` is asked for when a standalone program wants to know how fast the
// processor is at most.

#include <nlohmann/json.hpp>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

/// A short measurement of a ceiling. The operation tells in executed().numbers what one run does:
/// "flops" and "bytes".
class CeilingProblem final : public ProblemOf<CeilingProblem> {
 public:
  static constexpr const char* kind_name = "ceiling";
  static constexpr const char* kind_version = "";  ///< core/api: the interface version covers it
  enum class Kernel {
    fma,  ///< multiply-adds in registers, in `precision`
    read  ///< an array of fp64 that each thread keeps in its first cache
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

}  // namespace assay
