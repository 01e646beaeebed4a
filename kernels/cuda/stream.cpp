// The limits of a GPU: of its memory by our own kernels, of its arithmetic by cuBLAS.

#include "kernels/stream/problem.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/for_each.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/stream_kernels.hpp"
#include "kernels/oracle/refused_algorithm.hpp"
#include "support/cuda/device.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

class StreamOperation : public BoundOperation {
 public:
  StreamOperation(const StreamProblem& problem, const CudaDevice& device)
      : BoundOperation(problem.tensors()), problem_(problem), device_(device) {
    execution_.layout = "any";
    execution_.evidence = "numerical";
    execution_.storage = execution_.compute = execution_.accumulate =
        std::string(name(arguments_[0].type));
  }

 protected:
  StreamProblem problem_;
  const CudaDevice& device_;
};

template <class T>
class Moving final : public StreamOperation {
 public:
  Moving(const StreamProblem& problem, const CudaDevice& device, bool streaming)
      : StreamOperation(problem, device), streaming_(streaming) {
    execution_.algorithm = streaming ? "nontemporal" : "regular";
    execution_.implementation = streaming ? "16 bytes a thread, ld.cs, st.cs" : "16 bytes a thread";
  }
  void run(Stream& stream) override {
    const auto start = [&](auto what) {
      return streaming_ ? move<what(), Caching::once>(stream)
                        : move<what(), Caching::usual>(stream);
    };
    const auto moved = [&] {
      switch (problem_.shape().kernel) {
        case StreamKernel::copy:
          return start(std::integral_constant<Move, Move::copy>());
        case StreamKernel::scale:
          return start(std::integral_constant<Move, Move::scale>());
        case StreamKernel::add:
          return start(std::integral_constant<Move, Move::add>());
        default:
          return start(std::integral_constant<Move, Move::triad>());
      }
    };
    check(moved(), problem_.canonical());
  }

 private:
  template <Move what, Caching how>
  cudaError_t move(Stream& stream) const {
    const std::size_t last = arguments_.size() - 1;
    const std::int64_t n = problem_.shape().n,
                       threads = stream_threads_for<T>(n, device_.facts().processors);
    return move_each(
        MovePacks<T, what, how>{data<T>(0), last == 2 ? data<T>(1) : nullptr, data<T>(last), n,
                                threads, static_cast<T>(stream_scalar)},
        cuda_stream(stream));
  }

  bool streaming_;
};

template <class T>
class Reading final : public StreamOperation {
 public:
  Reading(const StreamProblem& problem, const CudaDevice& device)
      : StreamOperation(problem, device) {
    execution_.algorithm = "sum";
    execution_.implementation = "16 bytes a thread, ld.cg";
    execution_.accumulate = std::string(name(DataType::fp64));
  }
  void run(Stream& stream) override {
    const std::int64_t n = problem_.shape().n;
    const ReadPacks<T> part{data<T>(0), n, problem_.passes(),
                            stream_threads_for<T>(n, device_.facts().processors)};
    check(add_each(part, data<double>(1), cuda_stream(stream)), problem_.canonical());
  }
};

class Chasing final : public StreamOperation {
 public:
  Chasing(const StreamProblem& problem, const CudaDevice& device)
      : StreamOperation(problem, device) {
    TensorSpec ring = bytes_tensor("ring", Role::workspace,
                                   static_cast<std::size_t>(problem.shape().n * stream_line));
    ring.type = DataType::s32;
    arguments_.push_back(ring);
    execution_.algorithm = "chase";
    execution_.implementation = "one thread, one random cycle of lines of 64 bytes, ld.cg";
    execution_.workspace_bytes = ring.bytes;
    execution_.storage = execution_.compute = execution_.accumulate = "";
  }
  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    const std::vector<std::size_t> order = latency_order(problem_.shape().n);
    std::vector<std::int32_t> ring(order.size() * stride);
    for (std::size_t i = 0; i < order.size(); ++i)
      ring[order[i] * stride] = static_cast<std::int32_t>(order[(i + 1) % order.size()]);
    copy_to_gpu(data<std::int32_t>(2), ring.data(), ring.size() * sizeof ring[0],
                "copying the chase to the GPU");
  }
  void run(Stream& stream) override {
    check(for_each(ChaseLines{data<std::int32_t>(2), problem_.shape().n, stride,
                              data<std::int32_t>(0), data<std::int32_t>(1), problem_.loads()},
                   1, cuda_stream(stream)),
          problem_.canonical());
  }

 private:
  static constexpr std::int64_t stride = stream_line / 4;
};

/// By columns, dst^T = weights * src^T, with both operands contiguous along the sum: the only form
/// that cuBLAS has for int8.
class Product final : public BoundOperation {
 public:
  Product(std::unique_ptr<Operation> gemm, std::vector<TensorSpec> named)
      : BoundOperation(gemm->arguments()), gemm_(std::move(gemm)) {
    std::swap(arguments_[0], arguments_[1]);  // src is B, weights are A
    for (std::size_t i = 0; i < named.size(); ++i) {
      arguments_[i].name = named[i].name;
      arguments_[i].dims = named[i].dims;
    }
  }
  void bind(std::span<Tensor* const> tensors) override {
    std::vector<Tensor*> of_gemm(tensors.begin(), tensors.end());
    std::swap(of_gemm[0], of_gemm[1]);
    gemm_->bind(of_gemm);
  }
  void run(Stream& stream) override { gemm_->run(stream); }
  Execution execution() const override { return gemm_->execution(); }

 private:
  std::unique_ptr<Operation> gemm_;
};

Result<std::unique_ptr<Operation>> make_matmul(CudaDevice& device, const StreamProblem& problem) {
  GemmShape shape;
  shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = problem.shape().n;
  shape.ta = true;
  auto operation = make_product(device, GemmProblem(shape, problem.precision()));
  if (auto* refusal = std::get_if<Unsupported>(&operation)) return std::move(*refusal);
  return std::make_unique<Product>(std::move(std::get<std::unique_ptr<Operation>>(operation)),
                                   problem.tensors());
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
  if (!stores || (algorithm != "regular" && algorithm != "nontemporal"))
    if (auto why = refuse_algorithm(options, "cuda", {}, problem.canonical(),
                                    "regular and nontemporal are of copy, scale, add and triad"))
      return std::move(*why);
  if (kernel == StreamKernel::fma)
    return Unsupported{
        "cuda measures the peak with cuBLAS (not in registers). Use --problem "
        "matmul."};
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  if (!stores && options.get("cache", "hot") == "cold")
    return Unsupported{
        fmt::format("{} is not run cold (its size says which cache it is in). Use --cache hot.",
                    problem.canonical())};
  for (const char* place : {"numa", "smt"})
    if (options.get(place, "any") != "any")
      return Unsupported{fmt::format(
          "a GPU has no NUMA nodes and no cores of the processor. Use --{} any.", place)};
  if (std::string why = why_not_precision(problem.precision(), device.facts()); !why.empty())
    return Unsupported{std::move(why)};
  if (kernel == StreamKernel::matmul) return make_matmul(device, problem);
  if (kernel == StreamKernel::latency) return std::make_unique<Chasing>(problem, device);
  const bool streaming = algorithm == "nontemporal";
  return problem.precision() == Precision::fp32 ? make_memory<float>(device, problem, streaming)
                                                : make_memory<double>(device, problem, streaming);
}

const Maker add_stream{
    makers(), problem_kind<StreamProblem>(), &make_stream, {"regular", "nontemporal"}};

}  // namespace
}  // namespace assay::cuda
