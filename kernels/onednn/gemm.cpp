// oneDNN's matmul primitive.

#include "kernels/gemm/problem.hpp"

#include <fmt/format.h>

#include "kernels/onednn/backend.hpp"
#include "kernels/onednn/device.hpp"
#include "kernels/onednn/implementation.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::onednn {
namespace {

using dnnl::memory;

/// The memory of a matrix of the primitive; its rows are `row` and its columns `column` elements
/// apart. A batch of one is omitted, because oneDNN then finds more implementations.
memory::desc matrix(const GemmShape& s, std::int64_t rows, std::int64_t columns, std::int64_t row,
                    std::int64_t column, std::int64_t in_batch, DataType type) {
  if (s.batch == 1) return {{rows, columns}, to_data_type(type), memory::dims{row, column}};
  return {{s.batch, rows, columns}, to_data_type(type), memory::dims{in_batch, row, column}};
}

/// The primitive is row-major, so it computes C^T = op(B)^T op(A)^T on the same memory.
struct Matrices {
  explicit Matrices(const GemmProblem& problem) {
    const GemmShape& s = problem.shape();
    const std::vector<TensorSpec> specs = problem.tensors();
    weights = matrix(s, s.k, s.m, s.ta ? 1 : s.lda, s.ta ? s.lda : 1, s.lda * s.a_columns(),
                     specs[0].type);
    src = matrix(s, s.n, s.k, s.tb ? 1 : s.ldb, s.tb ? s.ldb : 1, s.ldb * s.b_columns(),
                 specs[1].type);
    dst = matrix(s, s.n, s.m, s.ldc, 1, s.ldc * s.n, specs[2].type);
  }
  memory::desc weights, src, dst;
};

dnnl::matmul::primitive_desc describe(const GemmProblem& problem, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  // ONEDNN_DEFAULT_FPMATH_MODE could make oneDNN compute fp32 in bf16 or tf32; strict mode prevents
  // that.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops after;
  if (problem.alpha() != 1)
    after.append_eltwise(dnnl::algorithm::eltwise_linear, static_cast<float>(problem.alpha()), 0);
  if (problem.beta() != 0) after.append_sum(static_cast<float>(problem.beta()));
  attributes.set_post_ops(after);
  const Matrices matrices(problem);
  return {engine, matrices.src, matrices.weights, matrices.dst, attributes};
}

class Matmul final : public BoundOperation {
 public:
  Matmul(const GemmProblem& problem, const dnnl::matmul::primitive_desc& chosen,
         const dnnl::engine& engine, int threads)
      : BoundOperation(problem.tensors()), primitive_(chosen), threads_(threads) {
    // Strided views of a, b and c.
    bound_.add(DNNL_ARG_WEIGHTS, chosen.weights_desc(), engine);
    bound_.add(DNNL_ARG_SRC, chosen.src_desc(), engine);
    bound_.add(DNNL_ARG_DST, chosen.dst_desc(), engine);
    execution_.workspace_bytes = chosen.scratchpad_desc().get_size();
    add_scratchpad(chosen.scratchpad_desc(), engine, arguments_, bound_);
    execution_.algorithm = "direct";
    execution_.implementation = chosen.impl_info_str();
    execution_.storage = std::string(name(problem.precision()));
    execution_.compute = compute_type(format(problem.precision()).arithmetic,
                                      execution_.implementation, threads == 0);
    // Documented for every implementation (Developer Guide, "Primitive Attributes: accumulation
    // mode": the default is strict, f32 for floating point, s32 for integers).
    execution_.accumulate = std::string(name(format(problem.precision()).accumulator));
    execution_.layout = "columns";
    execution_.evidence = "library";
  }

  void bind(std::span<Tensor* const> tensors) override {
    bound_.bind(tensors);
    set_threads(threads_);
  }

  void run(Stream& stream) override { execute(primitive_, stream, bound_.call(), "matmul"); }

 private:
  dnnl::matmul primitive_;
  int threads_;
  Arguments bound_;
};

Result<std::unique_ptr<Operation>> make_gemm(Device& device, const Problem& problem,
                                             const Options& options, Communicator&) {
  const GemmProblem& gemm = problem_cast<GemmProblem>(problem);
  auto& place = static_cast<OneDnnDevice&>(device);
  if (auto why = refuse_algorithm(options, "onednn", {"direct"}, "gemm")) return std::move(*why);
  const std::string request = fmt::format("{} {}", name(gemm.precision()), gemm.canonical());
  if (gemm.precision() == Precision::fp64 || gemm.precision() == Precision::tf32 ||
      is_fp8(gemm.precision()))
    return Unsupported{
        fmt::format("onednn has no {} matmul ({})", name(gemm.precision()), request)};
  if (const auto why = why_not_precision(gemm)) return Unsupported{*why};
  const int threads = set_threads(place.engine(), options);
  try {
    const dnnl::matmul::primitive_desc chosen = describe(gemm, place.engine());
    const std::string why =
        threads == 0 ? "" : why_not_reference(chosen.impl_info_str(), gemm.flops(), threads);
    if (!why.empty()) return Unsupported{fmt::format("{} ({})", why, request)};
    return std::make_unique<Matmul>(gemm, chosen, place.engine(), threads);
  } catch (const dnnl::error& error) {
    return refusal(error, fmt::format("a matmul ({}, ", request), request);
  }
}

const Maker add_gemm{makers(), problem_kind<GemmProblem>(), &make_gemm, {"direct"}};

}  // namespace
}  // namespace assay::onednn
