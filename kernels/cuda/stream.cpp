// What a GPU can do at most: its memory by our own kernels, its arithmetic as far as cuBLAS brings
// it.

#include "kernels/stream/problem.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <optional>

#include "core/base/error.hpp"
#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/kernel_names.hpp"
#include "kernels/cuda/stream_kernels.hpp"
#include "support/cuda/device.hpp"
#include "support/cuda/error.hpp"
#include "support/cuda/trace.hpp"

namespace assay::cuda {
namespace {

class StreamOperation : public Operation {
 public:
  StreamOperation(const StreamProblem& problem, const CudaDevice& device)
      : problem_(problem), device_(device), arguments_(problem.tensors()) {
    executed_.layout = "any";
    executed_.evidence = "numerical";
    executed_.storage = executed_.compute = executed_.accumulate =
        std::string(name(arguments_[0].type));
  }
  const std::vector<TensorSpec>& arguments() const final { return arguments_; }
  void bind(std::span<Tensor* const> tensors) final {
    data_.clear();
    for (Tensor* tensor : tensors) data_.push_back(tensor->data());
    bound();
  }
  Executed executed() const final { return executed_; }

 protected:
  virtual void bound() {}
  template <class T>
  T* data(std::size_t argument) const {
    return static_cast<T*>(data_[argument]);
  }

  StreamProblem problem_;
  const CudaDevice& device_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;

 private:
  std::vector<void*> data_;
};

template <class T>
class Moving final : public StreamOperation {
 public:
  Moving(const StreamProblem& problem, const CudaDevice& device, bool streaming)
      : StreamOperation(problem, device),
        streaming_(streaming),
        what_(static_cast<Move>(problem.shape().kernel)) {
    static_assert(static_cast<int>(Move::copy) == static_cast<int>(StreamKernel::copy) &&
                  static_cast<int>(Move::triad) == static_cast<int>(StreamKernel::triad));
    executed_.algorithm = streaming ? "nontemporal" : "regular";
    executed_.implementation = streaming ? "16 bytes a thread, ld.cs, st.cs" : "16 bytes a thread";
  }
  void run(Stream& stream) override {
    const std::size_t last = arguments_.size() - 1;
    check(move<T>(what_, streaming_, static_cast<T>(stream_scalar), data<T>(0),
                  last == 2 ? data<T>(1) : nullptr, data<T>(last), problem_.shape().n,
                  device_.facts().processors, cuda_stream(stream)),
          problem_.canonical());
  }

 private:
  bool streaming_;
  Move what_;
};

template <class T>
class Reading final : public StreamOperation {
 public:
  Reading(const StreamProblem& problem, const CudaDevice& device)
      : StreamOperation(problem, device) {
    executed_.algorithm = "sum";
    executed_.implementation = "16 bytes a thread, ld.cg";
    executed_.accumulate = std::string(name(DataType::fp64));
  }
  void run(Stream& stream) override {
    check(read<T>(data<T>(0), data<double>(1), problem_.shape().n, problem_.passes(),
                  device_.facts().processors, cuda_stream(stream)),
          problem_.canonical());
  }
};

class Chasing final : public StreamOperation {
 public:
  Chasing(const StreamProblem& problem, const CudaDevice& device)
      : StreamOperation(problem, device) {
    TensorSpec ring;
    ring.name = "ring";
    ring.role = Role::workspace;
    ring.type = DataType::s32;
    ring.bytes = static_cast<std::size_t>(problem.shape().n * stream_line);
    arguments_.push_back(ring);
    executed_.algorithm = "chase";
    executed_.implementation = "one thread, one random cycle of lines of 64 bytes, ld.cg";
    executed_.workspace_bytes = ring.bytes;
    executed_.storage = executed_.compute = executed_.accumulate = "";
  }
  void run(Stream& stream) override {
    check(chase(data<std::int32_t>(2), problem_.shape().n, stride, data<std::int32_t>(0),
                data<std::int32_t>(1), problem_.loads(), cuda_stream(stream)),
          problem_.canonical());
  }

 private:
  static constexpr std::int64_t stride = stream_line / 4;
  void bound() override {
    const std::vector<std::size_t> order = latency_order(problem_.shape().n);
    std::vector<std::int32_t> ring(order.size() * stride);
    for (std::size_t i = 0; i < order.size(); ++i)
      ring[order[i] * stride] = static_cast<std::int32_t>(order[(i + 1) % order.size()]);
    check(cudaMemcpy(data<std::int32_t>(2), ring.data(), ring.size() * sizeof ring[0],
                     cudaMemcpyHostToDevice),
          "copying the chase to the GPU");
  }
};

void check_blas(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string runtime = pending();
  throw CaseError(fmt::format("{} failed (cuBLAS: {}, status {}{})", what,
                              cublasGetStatusString(status), static_cast<int>(status),
                              runtime.empty() ? "" : fmt::format("; CUDA: {}", runtime)));
}

/// dst = src * weights^T, all row-major: for cuBLAS, which counts columns first, it is
/// dst^T = weights * src^T with both operands along the sum, the only form that int8 has.
class Product final : public StreamOperation {
 public:
  Product(const StreamProblem& problem, const CudaDevice& device)
      : StreamOperation(problem, device) {
    check_blas(cublasCreate(&handle_), "starting cuBLAS");
    const Precision precision = problem.precision();
    if (precision == Precision::int8) {  // cuBLAS multiplies signed bytes by signed ones
      arguments_[0].type = DataType::s8;
      executed_.storage = "int8";
    }
    types(precision);
    int version = 0;
    cublasGetVersion(handle_, &version);
    executed_.algorithm = "cublas";
    executed_.implementation = fmt::format("cuBLAS {} cublasGemmEx", version);
    executed_.evidence =
        precision == Precision::fp32 || precision == Precision::fp64 || precision == Precision::int8
            ? "numerical"
            : "requested";
    executed_.compute = std::string(name(precision));
    executed_.accumulate = precision == Precision::int8 ? "s32"
                           : precision == Precision::fp64 || precision == Precision::fp32
                               ? executed_.compute
                               : "fp32_rz";
  }
  ~Product() override { cublasDestroy(handle_); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void run(Stream& stream) override {
    check_blas(launch(cuda_stream(stream)), problem_.canonical());
  }

  /// Runs once on memory of its own, with the kernels recorded; why it is not what was asked for.
  std::optional<std::string> prove(CudaDevice& device) {
    std::vector<std::unique_ptr<Tensor>> tensors;
    std::vector<Tensor*> bound;
    for (const TensorSpec& spec : arguments_) {
      tensors.push_back(device.allocate(spec));
      bound.push_back(tensors.back().get());
    }
    bind(bound);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const auto kernels = traced_kernels([&] {
      status = launch(device.stream().get());
      if (status == CUBLAS_STATUS_SUCCESS) device.stream().wait();
    });
    if (status == CUBLAS_STATUS_NOT_SUPPORTED)
      return fmt::format("cuBLAS: {}", cublasGetStatusString(status));
    check_blas(status, problem_.canonical());
    if (!kernels) return std::nullopt;
    const Seen seen = read_kernels(*kernels);
    executed_.implementation += ": " + seen.names;
    executed_.evidence = "trace";
    const std::string why = why_not_arithmetic(seen, problem_.precision());
    return why.empty() ? std::nullopt : std::optional("cuBLAS: " + why);
  }

 private:
  void types(Precision precision) {
    in_ = out_ = CUDA_R_32F;
    compute_ = CUBLAS_COMPUTE_32F;  // without a math mode of its own: never in tf32
    switch (precision) {
      case Precision::fp64:
        in_ = out_ = CUDA_R_64F;
        compute_ = CUBLAS_COMPUTE_64F;
        break;
      case Precision::fp32:
        break;
      case Precision::tf32:
        compute_ = CUBLAS_COMPUTE_32F_FAST_TF32;
        break;
      case Precision::fp16:
        in_ = out_ = CUDA_R_16F;
        break;
      case Precision::bf16:
        in_ = out_ = CUDA_R_16BF;
        break;
      case Precision::int8:
        in_ = CUDA_R_8I;
        out_ = CUDA_R_32I;
        compute_ = CUBLAS_COMPUTE_32I;
        break;
      case Precision::bf16_fp32:
      case Precision::fp16_fp32:
        throw std::logic_error("stream refuses mixed precisions");
    }
  }

  cublasStatus_t launch(cudaStream_t stream) const {
    static constexpr double one_d = 1, zero_d = 0;
    static constexpr float one_f = 1, zero_f = 0;
    static constexpr std::int32_t one_i = 1, zero_i = 0;
    const void *one = &one_f, *zero = &zero_f;
    if (compute_ == CUBLAS_COMPUTE_64F) one = &one_d, zero = &zero_d;
    if (compute_ == CUBLAS_COMPUTE_32I) one = &one_i, zero = &zero_i;
    const int n = static_cast<int>(problem_.shape().n);
    const cublasStatus_t status = cublasSetStream(handle_, stream);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, one, data<void>(1), in_, n,
                        data<void>(0), in_, n, zero, data<void>(2), out_, n, compute_,
                        CUBLAS_GEMM_DEFAULT);
  }

  cublasHandle_t handle_ = nullptr;
  cudaDataType in_, out_;
  cublasComputeType_t compute_;
};

Result<std::unique_ptr<Operation>> make_product(CudaDevice& device, const StreamProblem& problem) {
  auto product = std::make_unique<Product>(problem, device);
  if (auto why = product->prove(device))
    return Unsupported{fmt::format("{} ({})", *why, problem.canonical())};
  return product;
}

template <class T>
std::unique_ptr<Operation> make_memory(CudaDevice& device, const StreamProblem& problem,
                                       bool streaming) {
  if (problem.shape().kernel == StreamKernel::read)
    return std::make_unique<Reading<T>>(problem, device);
  return std::make_unique<Moving<T>>(problem, device, streaming);
}

Result<std::unique_ptr<Operation>> make_stream(Device& place, const Problem& what,
                                               const Options& options, Communicator&) {
  const StreamProblem& problem = problem_cast<StreamProblem>(what);
  auto& device = static_cast<CudaDevice&>(place);
  const StreamKernel kernel = problem.shape().kernel;
  const std::string algorithm = options.get("algorithm", "auto");
  const bool stores = kernel <= StreamKernel::triad;
  if (algorithm != "auto" && !(stores && (algorithm == "regular" || algorithm == "nontemporal")))
    return Unsupported{fmt::format(
        "cuda has no algorithm {} for {} (regular and nontemporal are of copy, scale, add and "
        "triad). Use auto.",
        algorithm, problem.canonical())};
  if (kernel == StreamKernel::fma)
    return Unsupported{
        "cuda measures arithmetic as far as cuBLAS brings it, not in registers. Use --problem "
        "matmul."};
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  if (!stores && options.get("cache", "hot") == "cold")
    return Unsupported{
        fmt::format("{} is not run cold (its size says which cache it is in). Use --cache hot.",
                    problem.canonical())};
  for (const char* place : {"numa", "smt"})
    if (options.get(place, "any") != "any")
      return Unsupported{
          fmt::format("a GPU has no NUMA nodes and cores of the processor. Use --{} any.", place)};
  if (std::string why = why_not_precision(problem.precision(), device.facts()); !why.empty())
    return Unsupported{std::move(why)};
  if (kernel == StreamKernel::matmul) return make_product(device, problem);
  if (kernel == StreamKernel::latency) return std::make_unique<Chasing>(problem, device);
  const bool streaming = algorithm == "nontemporal";
  return problem.precision() == Precision::fp32 ? make_memory<float>(device, problem, streaming)
                                                : make_memory<double>(device, problem, streaming);
}

const Maker add_stream{
    makers(), kind_of<StreamProblem>(), &make_stream, {"regular", "nontemporal"}};

}  // namespace
}  // namespace assay::cuda
