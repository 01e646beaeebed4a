// ratio: assay-gemm's oneDNN matmul timed by measure() over a bare loop, 2048^3
// target: <= 1.02
// pairs: 30
// needs: dnnl

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "tests/self_benchmark/support/gemm_pairs.hpp"

namespace {

using namespace assay;
using dnnl::memory;

/// The primitive as a user writes it: row-major matrices, nothing else.
std::function<void()> bare(Backend&, const self_benchmark::Matrices& matrices, std::string&) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc square({self_benchmark::gemm_rows, self_benchmark::gemm_rows},
                            memory::data_type::f32, memory::format_tag::ab);
  const dnnl::matmul matmul(dnnl::matmul::primitive_desc(engine, square, square, square));
  dnnl::stream stream(engine);
  // Stored by columns, a product is that of the transposes in the other order.
  const std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, memory(square, engine, matrices[1])},
      {DNNL_ARG_WEIGHTS, memory(square, engine, matrices[0])},
      {DNNL_ARG_DST, memory(square, engine, matrices[2])}};
  return [matmul, stream, arguments]() mutable {
    matmul.execute(stream, arguments);
    stream.wait();
  };
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] {
    return self_benchmark::gemm_ratio(self_benchmark::pairs_from(argc, argv), "onednn", &bare);
  });
}
