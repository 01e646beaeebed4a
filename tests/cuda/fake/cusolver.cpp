// A fake cuSOLVER, which factorizes on the host by Eigen. For use with LD_PRELOAD, over the fake
// CUDA runtime.
//
//   FAKE_CUSOLVER_FAILS=1   every computation fails
#include <cusolverDn.h>

#include <Eigen/Dense>

#include <cstdint>
#include <cstdlib>

#include "tests/cuda/fake/worked.hpp"

namespace {

constexpr std::size_t on_device = 4096, on_host = 512;

template <class Real>
using Columns =
    Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;

template <class Real>
void syevd(cublasFillMode_t triangle, std::int64_t n, void* a, std::int64_t lda, void* w) {
  Columns<Real> matrix(static_cast<Real*>(a), n, n, Eigen::OuterStride<>(lda));
  using Full = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  const Full lower = triangle == CUBLAS_FILL_MODE_LOWER ? Full(matrix) : Full(matrix.transpose());
  const Eigen::SelfAdjointEigenSolver<Full> solver(lower);
  matrix = solver.eigenvectors();
  Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>(static_cast<Real*>(w), n) =
      solver.eigenvalues();
}

template <class Real>
void geqrf(std::int64_t m, std::int64_t n, void* a, std::int64_t lda, void* tau) {
  Columns<Real> matrix(static_cast<Real*>(a), m, n, Eigen::OuterStride<>(lda));
  using Full = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::HouseholderQR<Full> factors{Full(matrix)};
  matrix = factors.matrixQR();  // the reflectors are below r
  Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>(static_cast<Real*>(tau), n) =
      factors.hCoeffs();
}

/// True if both workspaces are as they were asked for.
bool served(void* device, std::size_t bytes, void* host, std::size_t of_host) {
  return device != nullptr && bytes == on_device && host != nullptr && of_host == on_host;
}
bool fails() { return std::getenv("FAKE_CUSOLVER_FAILS") != nullptr; }

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = reinterpret_cast<cusolverDnHandle_t>(new int);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetVersion(int* version) {
  *version = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t, cudaStream_t) {
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  *params = reinterpret_cast<cusolverDnParams_t>(new int);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) {
  delete reinterpret_cast<int*>(params);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                             cusolverEigMode_t, cublasFillMode_t, std::int64_t,
                                             cudaDataType, const void* a, std::int64_t,
                                             cudaDataType, const void* w, cudaDataType,
                                             std::size_t* device, std::size_t* host) {
  if (a == nullptr || w == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *device = on_device;
  *host = on_host;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t mode,
                                  cublasFillMode_t triangle, std::int64_t n, cudaDataType type,
                                  void* a, std::int64_t lda, cudaDataType, void* w, cudaDataType,
                                  void* device, std::size_t bytes, void* host, std::size_t of_host,
                                  int* info) {
  const fake::WorkScope meanwhile;
  if (mode != CUSOLVER_EIG_MODE_VECTOR || lda < n || !served(device, bytes, host, of_host))
    return CUSOLVER_STATUS_INVALID_VALUE;
  if (fails()) return CUSOLVER_STATUS_INTERNAL_ERROR;
  type == CUDA_R_64F ? syevd<double>(triangle, n, a, lda, w) : syevd<float>(triangle, n, a, lda, w);
  *info = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, std::int64_t,
                                             std::int64_t, cudaDataType, const void* a,
                                             std::int64_t, cudaDataType, const void* tau,
                                             cudaDataType, std::size_t* device, std::size_t* host) {
  if (a == nullptr || tau == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *device = on_device;
  *host = on_host;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t, cusolverDnParams_t, std::int64_t m,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  cudaDataType, void* tau, cudaDataType, void* device,
                                  std::size_t bytes, void* host, std::size_t of_host, int* info) {
  const fake::WorkScope meanwhile;
  if (lda < m || m < n || !served(device, bytes, host, of_host))
    return CUSOLVER_STATUS_INVALID_VALUE;
  if (fails()) return CUSOLVER_STATUS_INTERNAL_ERROR;
  type == CUDA_R_64F ? geqrf<double>(m, n, a, lda, tau) : geqrf<float>(m, n, a, lda, tau);
  *info = 0;
  return CUSOLVER_STATUS_SUCCESS;
}
}
