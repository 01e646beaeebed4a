// A CBLAS library with sgemm, shgemm and sdot alone, by plain loops. INTEGER: type of extents;
// SUFFIX: how names end; WRONG: one element of each product is not right; SYRK: it has dsyrk, too;
// BLIS, MKL or NVPL: whose functions tell its version and set its threads, in place of OpenBLAS's;
// PLAIN: it has none.
//
//   FAKE_CBLAS_THREADS=N   products are wrong unless the library was told last to use N threads
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifndef SUFFIX
#define SUFFIX
#endif
#define JOINED(name, suffix) name##suffix
#define WITH(name, suffix) JOINED(name, suffix)
#define NAME(name) WITH(name, SUFFIX)

namespace {

int threads = 0;  ///< that it was told last; 0: none

bool has_other_threads() {
  const char* const expected = std::getenv("FAKE_CBLAS_THREADS");
  return expected != nullptr && std::atoi(expected) != threads;
}

float number(float value) { return value; }
float number(std::uint16_t fp16) {
  const int exponent = fp16 >> 10 & 31, fraction = fp16 & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return fp16 >> 15 != 0 ? -size : size;
}

struct Extents {
  INTEGER m, n, k;
};

template <class Stored>
void multiply(const Extents& of, int transpose_a, int transpose_b, float alpha, const Stored* a,
              INTEGER lda, const Stored* b, INTEGER ldb, float beta, float* c, INTEGER ldc) {
  constexpr int transpose = 112;
  for (INTEGER j = 0; j < of.n; ++j)
    for (INTEGER i = 0; i < of.m; ++i) {
      float sum = 0;
      for (INTEGER p = 0; p < of.k; ++p)
        sum += number(transpose_a == transpose ? a[i * lda + p] : a[p * lda + i]) *
               number(transpose_b == transpose ? b[p * ldb + j] : b[j * ldb + p]);
      float& out = c[j * ldc + i];
      out = alpha * sum + (beta == 0 ? 0 : beta * out);
    }
#ifdef WRONG
  c[ldc * (of.n / 2) + of.m / 3] += 1;
#endif
  if (has_other_threads()) c[0] += 1;
}

}  // namespace

extern "C" {

#if defined(BLIS)
const char* bli_info_get_version_str() { return "of a test"; }
int bli_arch_query_id() { return 7; }
const char* bli_arch_string(int id) { return id == 7 ? "arch of a test" : "another"; }
void bli_thread_set_num_threads(std::int64_t count) { threads = static_cast<int>(count); }
#elif defined(MKL)
void mkl_get_version_string(char* text, int size) {
  std::snprintf(text, static_cast<std::size_t>(size), "MKL of a test");
}
void MKL_Set_Num_Threads(int count) { threads = count; }
#elif defined(NVPL)
void nvpl_blas_set_num_threads(int count) { threads = count; }
#elif !defined(PLAIN)
const char* NAME(openblas_get_config)() { return "OpenBLAS of a test"; }
void NAME(openblas_set_num_threads)(int count) { threads = count; }
#endif

float NAME(cblas_sdot)(INTEGER n, const float* x, INTEGER x_step, const float* y, INTEGER y_step) {
  float sum = 0;
  for (INTEGER i = 0; i < n; ++i) sum += x[i * x_step] * y[i * y_step];
  return sum;
}

void NAME(cblas_sgemm)(int, int transpose_a, int transpose_b, INTEGER m, INTEGER n, INTEGER k,
                       float alpha, const float* a, INTEGER lda, const float* b, INTEGER ldb,
                       float beta, float* c, INTEGER ldc) {
  multiply({m, n, k}, transpose_a, transpose_b, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// fp16 in, fp32 out.
void NAME(cblas_shgemm)(int, int transpose_a, int transpose_b, INTEGER m, INTEGER n, INTEGER k,
                        float alpha, const std::uint16_t* a, INTEGER lda, const std::uint16_t* b,
                        INTEGER ldb, float beta, float* c, INTEGER ldc) {
  multiply({m, n, k}, transpose_a, transpose_b, alpha, a, lda, b, ldb, beta, c, ldc);
}

#ifdef SYRK
/// The lower triangle of c by rows: alpha a^T a + beta c, for a [k, n].
void NAME(cblas_dsyrk)(int, int, int, INTEGER n, INTEGER k, double alpha, const double* a,
                       INTEGER lda, double beta, double* c, INTEGER ldc) {
  for (INTEGER i = 0; i < n; ++i)
    for (INTEGER j = 0; j <= i; ++j) {
      double sum = 0;
      for (INTEGER p = 0; p < k; ++p) sum += a[p * lda + i] * a[p * lda + j];
      double& out = c[i * ldc + j];
      out = alpha * sum + (beta == 0 ? 0 : beta * out);
    }
}
#endif
}
