// A CBLAS library with sgemm and sdot alone, by plain loops. INTEGER: type of extents; SUFFIX: how
// names end; WRONG: one element of each product is not right; SYRK: it has dsyrk, too.
#include <cstdint>

#ifndef SUFFIX
#define SUFFIX
#endif
#define JOINED(name, suffix) name##suffix
#define WITH(name, suffix) JOINED(name, suffix)
#define NAME(name) WITH(name, SUFFIX)

extern "C" {

const char* NAME(openblas_get_config)() { return "OpenBLAS of a test"; }

float NAME(cblas_sdot)(INTEGER n, const float* x, INTEGER x_step, const float* y, INTEGER y_step) {
  float sum = 0;
  for (INTEGER i = 0; i < n; ++i) sum += x[i * x_step] * y[i * y_step];
  return sum;
}

void NAME(cblas_sgemm)(int, int transpose_a, int transpose_b, INTEGER m, INTEGER n, INTEGER k,
                       float alpha, const float* a, INTEGER lda, const float* b, INTEGER ldb,
                       float beta, float* c, INTEGER ldc) {
  constexpr int transpose = 112;
  for (INTEGER j = 0; j < n; ++j)
    for (INTEGER i = 0; i < m; ++i) {
      float sum = 0;
      for (INTEGER p = 0; p < k; ++p)
        sum += (transpose_a == transpose ? a[i * lda + p] : a[p * lda + i]) *
               (transpose_b == transpose ? b[p * ldb + j] : b[j * ldb + p]);
      float& out = c[j * ldc + i];
      out = alpha * sum + (beta == 0 ? 0 : beta * out);
    }
#ifdef WRONG
  c[ldc * (n / 2) + m / 3] += 1;
#endif
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
