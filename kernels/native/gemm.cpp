// Matrix multiplication of 8-bit floating types. No processor multiplies these, so they are decoded
// to fp32 and multiplied by the matrix products of recurrent networks.

#include "kernels/gemm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/api/fp8.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/conv_simd.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/rnn_gemm.hpp"

namespace assay::native {
namespace {

constexpr std::int64_t line = 16, rows_at_once = 48;

using Decoded = std::array<float, 256>;  ///< by code

template <class Fp8>
Decoded make_decoded() {
  Decoded all;
  for (std::size_t code = 0; code < all.size(); ++code) {
    Fp8 stored;
    stored.code = static_cast<std::uint8_t>(code);
    all[code] = fp8_value(stored);
  }
  return all;
}

/// A matrix op(A) or op(B). A line is contiguous along the sum; `count` lines are multiplied.
struct Operand {
  Decoded value;
  std::int64_t count, along, across, size;  ///< strides, and elements of one matrix of the batch
  const std::uint8_t* data = nullptr;

  /// Decodes lines [first, first + lines) for the products [16 block, 16 block + 16). The element
  /// (product p, line l) goes to `to[p * of_product + l * of_line]`; elements outside the matrix
  /// are 0.
  void decode(std::int64_t batch, std::int64_t first, std::int64_t lines, std::int64_t block,
              std::int64_t k, std::int64_t of_product, std::int64_t of_line, float* to) const {
    const std::uint8_t* const from = data + batch * size + block * line * along;
    const std::int64_t have = std::min(line, k - block * line);
    for (std::int64_t l = 0; l < lines; ++l)
      for (std::int64_t p = 0; p < line; ++p)
        to[p * of_product + l * of_line] =
            p < have && first + l < count ? value[from[(first + l) * across + p * along]] : 0.0F;
  }
};

class Fp8Gemm final : public BoundOperation {
 public:
  Fp8Gemm(const GemmProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        threads_(threads),
        k_(problem.shape().k),
        blocks_((k_ + line - 1) / line),
        panel_(line * rnn_gemm().width),
        panels_((problem.shape().m + panel_ - 1) / panel_) {
    execution_ = make_direct_execution(problem.precision(), gemm_table().target, "columns");
    const GemmShape& s = problem.shape();
    const auto table = [&](std::size_t i) {
      return arguments_[i].type == DataType::fp8_e4m3 ? make_decoded<Fp8E4m3>()
                                                      : make_decoded<Fp8E5m2>();
    };
    a_ = {table(0), s.m, s.ta ? 1 : s.lda, s.ta ? s.lda : 1, s.lda * s.a_columns()};
    b_ = {table(1), s.n, s.tb ? s.ldb : 1, s.tb ? 1 : s.ldb, s.ldb * s.b_columns()};
    const std::int64_t decoded_lines = panels_ * panel_ + s.n;
    execution_.workspace_bytes =
        static_cast<std::size_t>(decoded_lines * blocks_ * line) * sizeof(float);
    arguments_.push_back(workspace(execution_.workspace_bytes));
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    a_.data = data<const std::uint8_t>(0);
    b_.data = data<const std::uint8_t>(1);
    c_ = data<std::byte>(2);
    decoded_a_ = data<float>(3);
    decoded_b_ = decoded_a_ + panels_ * panel_ * blocks_ * line;
  }

  void run(Stream&) override {
    const GemmShape& s = problem_.shape();
    const std::int64_t tiles = (s.n + rows_at_once - 1) / rows_at_once;
#pragma omp parallel num_threads(threads_)
    for (std::int64_t batch = 0; batch < s.batch; ++batch) {
#pragma omp for schedule(static) nowait
      for (std::int64_t panel = 0; panel < panels_; ++panel) decode_panel(batch, panel);
#pragma omp for schedule(static)
      for (std::int64_t tile = 0; tile < tiles; ++tile) decode_tile(batch, tile);
#pragma omp for schedule(dynamic, 1) collapse(2)
      for (std::int64_t tile = 0; tile < tiles; ++tile)
        for (std::int64_t panel = 0; panel < panels_; ++panel) multiply(batch, tile, panel);
    }
  }

 private:
  std::int64_t rows(std::int64_t tile) const {
    return std::min(rows_at_once, problem_.shape().n - tile * rows_at_once);
  }
  /// [16 blocks][panel]
  float* panel_at(std::int64_t panel) const { return decoded_a_ + panel * panel_ * blocks_ * line; }
  /// [blocks][rows][16]
  float* tile_at(std::int64_t tile) const {
    return decoded_b_ + tile * rows_at_once * blocks_ * line;
  }

  void decode_panel(std::int64_t batch, std::int64_t panel) const {
    for (std::int64_t block = 0; block < blocks_; ++block)
      a_.decode(batch, panel * panel_, panel_, block, k_, panel_, 1,
                panel_at(panel) + block * line * panel_);
  }
  void decode_tile(std::int64_t batch, std::int64_t tile) const {
    for (std::int64_t block = 0; block < blocks_; ++block)
      b_.decode(batch, tile * rows_at_once, rows(tile), block, k_, 1, line,
                tile_at(tile) + block * line * rows(tile));
  }

  /// Multiplies a panel's rows of op(A), which rnn_gemm treats as columns, with a tile's columns of
  /// op(B).
  void multiply(std::int64_t batch, std::int64_t tile, std::int64_t panel) const {
    float sums[most_width][rows_at_once * line];
    RnnProduct product{};
    product.a = tile_at(tile);
    product.a_block = rows(tile) * line;
    product.b = panel_at(panel);
    product.blocks = blocks_;
    product.rows = rows(tile);
    product.width = rnn_gemm().width;
    for (int v = 0; v < most_width; ++v) product.c[v] = sums[v];
    product.fetches_a = true;
    rnn_gemm().multiply(product);
    const GemmShape& s = problem_.shape();
    const std::int64_t first = panel * panel_, count = std::min(panel_, s.m - first);
    std::array<double, most_width * line> column, before;
    for (std::int64_t row = 0; row < rows(tile); ++row) {
      const std::int64_t j = tile * rows_at_once + row, at = (batch * s.n + j) * s.ldc + first;
      std::byte* const to = c_ + static_cast<std::size_t>(at) * size_of(arguments_[2].type);
      const std::span<double> values(column.data(), static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i)
        column[static_cast<std::size_t>(i)] =
            problem_.alpha() * static_cast<double>(sums[i / line][row * line + i % line]);
      if (problem_.beta() != 0) {
        decode(arguments_[2].type, to, std::span(before.data(), values.size()));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += problem_.beta() * before[i];
      }
      encode(arguments_[2].type, values, to);
    }
  }

  GemmProblem problem_;
  int threads_;
  std::int64_t k_, blocks_;
  std::int64_t panel_, panels_;  ///< rows of op(A) that are multiplied together
  Operand a_, b_;
  std::byte* c_ = nullptr;
  float *decoded_a_ = nullptr, *decoded_b_ = nullptr;
};

Result<std::unique_ptr<Operation>> make_gemm(Device&, const Problem& problem,
                                             const Options& options, Communicator&) {
  const auto& gemm = problem_cast<GemmProblem>(problem);
  if (auto why = why_not_direct(gemm, options)) return Unsupported{std::move(*why)};
  if (!is_fp8(gemm.precision()))
    return Unsupported{
        fmt::format("native multiplies matrices of fp8 alone (not of {}). Use onednn or blas.",
                    name(gemm.precision()))};
  return std::make_unique<Fp8Gemm>(gemm, std::max(1, options.threads));
}

const Maker add_gemm{makers(), problem_kind<GemmProblem>(), &make_gemm, {"direct"}};

}  // namespace
}  // namespace assay::native
