// ratio: assay-gemm's CBLAS product timed by measure() over a bare loop around cblas_sgemm, 2048^3
// target: <= 1.02
// pairs: 30

#include <dlfcn.h>

#include "tests/self_benchmark/support/gemm_pairs.hpp"

namespace {

using namespace assay;

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);

std::function<void()> bare(Backend& backend, const self_benchmark::Matrices& matrices,
                           std::string& why) {
  const nlohmann::json told = backend.software();
  if (told.at("integers") != "LP64") {
    why = "the library has 64-bit integers, the bare loop 32-bit ones";
    return {};
  }
  // The plugin keeps it open.
  void* const library = dlopen(told.at("library").get<std::string>().c_str(), RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, "cblas_sgemm");
  if (found == nullptr) {
    why = dlerror();
    return {};
  }
  return [sgemm = reinterpret_cast<Sgemm>(found), matrices] {
    constexpr int column_major = 102, no_transpose = 111;
    constexpr int n = static_cast<int>(self_benchmark::gemm_rows);
    sgemm(column_major, no_transpose, no_transpose, n, n, n, 1, matrices[0], n, matrices[1], n, 0,
          matrices[2], n);
  };
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] {
    return self_benchmark::gemm_ratio(self_benchmark::pairs_from(argc, argv), "blas", &bare);
  });
}
