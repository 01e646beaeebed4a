#include "kernels/native/stream.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "core/base/statistics.hpp"
#include "core/machine/placement.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::native {

std::uint32_t dot_group(Precision precision, const int (&factors)[4]) {
  std::uint32_t word = 0;
  if (precision == Precision::int8) {
    for (int i = 3; i >= 0; --i) word = word << 8 | (static_cast<std::uint32_t>(factors[i]) & 0xFF);
    return word;
  }
  // A bf16 is the upper half of an fp32. These factors have at most 8 significant bits, so they are
  // exact.
  for (int i = 1; i >= 0; --i)
    word =
        word << 16 | std::bit_cast<std::uint32_t>(static_cast<float>(factors[i]) * 0x1p-7F) >> 16;
  return word;
}

namespace {

constexpr std::size_t line = 64;

/// The common part of all operations of the benchmark: tensors, threads, and the clock of the
/// cores. The clock is read at each bind(), which is never timed but close to the timed runs.
class StreamOperation : public BoundOperation {
 public:
  StreamOperation(const StreamProblem& problem, std::string algorithm)
      : BoundOperation(problem.tensors()), problem_(problem) {
    execution_.algorithm = std::move(algorithm);
    execution_.layout = "any";
    execution_.evidence = "numerical";
    const std::string type(name(arguments_[0].type));
    execution_.storage = execution_.compute = execution_.accumulate = type;
  }
  void bind(std::span<Tensor* const> tensors) final {
    BoundOperation::bind(tensors);
    bound();
    clocks_.push_back(clock_hz(problem_.threads(), [this] { warm(); }));
  }
  Execution execution() const final {
    Execution ran = execution_;
    if (!clocks_.empty() && clocks_[0] > 0) ran.numbers["clock_hz"] = median(clocks_);
    return ran;
  }

 protected:
  virtual void bound() {}
  /// Each thread brings its core to the clock that the core has during the operation.
  virtual void warm() const {}

  StreamProblem problem_;

 private:
  std::vector<double> clocks_;
};

/// The part of a thread: whole blocks, divided among threads as in HostDevice::put, so that pages
/// are local to the threads that use them; for small arrays whole cache lines.
struct Part {
  std::size_t begin = 0, count = 0;
};
Part find_part(std::int64_t n, std::size_t size, int thread, int threads) {
  constexpr std::int64_t put_block = 8192;
  const std::int64_t grain =
      n >= 8 * put_block * threads ? put_block : static_cast<std::int64_t>(line / size);
  const std::int64_t blocks = (n + grain - 1) / grain, each = blocks / threads,
                     more = blocks % threads;
  const std::int64_t first = thread * each + std::min<std::int64_t>(thread, more),
                     count = each + (thread < more ? 1 : 0);
  const std::int64_t begin = std::min(n, first * grain), end = std::min(n, (first + count) * grain);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
}

template <class T>
class Move final : public StreamOperation {
 public:
  Move(const StreamProblem& problem, bool nontemporal)
      : StreamOperation(problem, nontemporal ? "nontemporal" : "regular"),
        nontemporal_(nontemporal) {
    execution_.implementation = fmt::format("highway {}", memory_instructions());
  }
  void run(Stream&) override {
    const std::int64_t n = problem_.shape().n;
    const T* const a = data<T>(0);
    const T* const b = arguments_.size() == 3 ? data<T>(1) : nullptr;
    T* const c = data<T>(arguments_.size() - 1);
#pragma omp parallel num_threads(problem_.threads())
    {
      const Part part = find_part(n, sizeof(T), omp_get_thread_num(), omp_get_num_threads());
      move(problem_.shape().kernel, nontemporal_, a + part.begin,
           b == nullptr ? nullptr : b + part.begin, c + part.begin, part.count);
    }
  }

 private:
  bool nontemporal_;
};

template <class T>
class Read final : public StreamOperation {
 public:
  explicit Read(const StreamProblem& problem) : StreamOperation(problem, "sum") {
    execution_.implementation = fmt::format("highway {}", memory_instructions());
  }
  void run(Stream&) override {
    double all = 0;
#pragma omp parallel num_threads(problem_.threads()) reduction(+ : all)
    {
      const Part part =
          find_part(problem_.shape().n, sizeof(T), omp_get_thread_num(), omp_get_num_threads());
      all += passes(data<T>(0) + part.begin, part.count);
    }
    *data<double>(1) = all;
  }

 private:
  // A sum of 2^16 integers in fp32 is exact. So longer arrays are summed in pieces, and shorter
  // ones several times at once. Each piece costs one call and one sum over the lanes.
  static constexpr std::size_t most = 1 << 16;
  double passes(const T* a, std::size_t count) const {
    if (count == 0) return 0;
    const auto times = static_cast<std::size_t>(problem_.passes());
    double all = 0;
    if (count <= most) {
      const std::size_t together = most / count;
      for (std::size_t done = 0; done < times; done += together)
        all += sum(a, count, std::min(together, times - done));
      return all;
    }
    for (std::size_t pass = 0; pass < times; ++pass)
      for (std::size_t i = 0; i < count; i += most) all += sum(a + i, std::min(most, count - i), 1);
    return all;
  }
};

class Latency final : public StreamOperation {
 public:
  explicit Latency(const StreamProblem& problem) : StreamOperation(problem, "chase") {
    execution_.workspace_bytes = static_cast<std::size_t>(problem.shape().n * stream_line);
    arguments_.push_back(bytes_tensor("ring", Role::workspace, execution_.workspace_bytes));
    execution_.implementation = "pointer chase, one random cycle of cache lines";
    execution_.storage = execution_.compute = execution_.accumulate = "";
  }
  void run(Stream&) override {
    const std::int64_t n = problem_.shape().n, loads = problem_.loads();
    const Link* const ring = data<const Link>(2);
    const Link* at = ring + latency_start(*data<const std::int32_t>(0), n);
    for (std::int64_t i = 0; i < loads; ++i) at = at->next;
    *data<std::int32_t>(1) = static_cast<std::int32_t>(at - ring);
  }

 private:
  struct alignas(stream_line) Link {
    const Link* next;
  };
  void bound() override {
    Link* const ring = data<Link>(2);
    const std::vector<std::size_t> order = latency_order(problem_.shape().n);
    for (std::size_t i = 0; i < order.size(); ++i)
      ring[order[i]].next = ring + order[(i + 1) % order.size()];
  }
};

class Fma final : public StreamOperation {
 public:
  Fma(const StreamProblem& problem, const Registers& registers)
      : StreamOperation(problem, registers.compute == registers.accumulate ? "fma" : "dot"),
        registers_(registers) {
    execution_.implementation = registers.instructions;
    execution_.compute = registers.compute;
    execution_.accumulate = registers.accumulate;
    execution_.numbers["vector_bits"] = registers.vector_bits;
    execution_.numbers["chains"] = registers.chains;
  }
  void run(Stream&) override {
    const std::size_t bytes = static_cast<std::size_t>(stream_values) * size_of(arguments_[0].type);
    const auto* const x = data<const std::byte>(0);
    auto* const y = data<std::byte>(1);
#pragma omp parallel num_threads(problem_.threads())
    {
      const std::size_t at = static_cast<std::size_t>(omp_get_thread_num()) * bytes;
      registers_.run(x + at, y + at, problem_.shape().n);
    }
  }

 private:
  /// Processors lower their clock for wide multiply-adds, and some raise it again within 50 us.
  void warm() const override {
    using Clock = std::chrono::steady_clock;
    constexpr auto enough = std::chrono::microseconds(500);
    alignas(line) const double x[stream_values] = {};  // room for elements of every type
    alignas(line) double y[stream_values];
    const Clock::time_point start = Clock::now();
    while (Clock::now() - start < enough) registers_.run(x, y, 1024);
  }

  Registers registers_;
};

Result<std::unique_ptr<Operation>> make_fma(const StreamProblem& problem) {
  const Precision precision = problem.precision();
  if (precision == Precision::tf32)
    return Unsupported{"native has no tf32 (a format of tensor cores). Use fp32."};
  const bool wide = precision == Precision::fp64 || precision == Precision::fp32;
  Result<Registers> registers = wide ? fma_registers(precision) : half_registers(precision);
  if (auto* refusal = std::get_if<Unsupported>(&registers)) return std::move(*refusal);
  return std::make_unique<Fma>(problem, std::get<Registers>(registers));
}

template <class T>
std::unique_ptr<Operation> make_memory(const StreamProblem& problem, bool nontemporal) {
  if (problem.shape().kernel == StreamKernel::read) return std::make_unique<Read<T>>(problem);
  return std::make_unique<Move<T>>(problem, nontemporal);
}

Result<std::unique_ptr<Operation>> make_stream(Device&, const Problem& what, const Options& options,
                                               Communicator&) {
  const StreamProblem& problem = problem_cast<StreamProblem>(what);
  const StreamKernel kernel = problem.shape().kernel;
  const std::string algorithm = options.get("algorithm", "auto");
  const bool stores = kernel <= StreamKernel::triad;
  if (!stores || (algorithm != "regular" && algorithm != "nontemporal"))
    if (auto why = refuse_algorithm(options, "native", {}, problem.canonical(),
                                    "regular and nontemporal are of copy, scale, add and triad"))
      return std::move(*why);
  if (kernel == StreamKernel::matmul)
    return Unsupported{"native has no matmul (fma measures its peak). Use --problem fma."};
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  if (!stores && options.get("cache", "hot") == "cold")
    return Unsupported{
        fmt::format("{} is not run cold (its size says which cache it is in). Use --cache hot.",
                    problem.canonical())};
  if (kernel == StreamKernel::latency && problem.threads() != 1)
    return Unsupported{"latency is measured with one thread. Use --threads 1."};
  if (auto why = why_not_placed({options.get("numa", "any"), options.get("smt", "any")},
                                problem.threads()))
    return Unsupported{std::move(*why)};
  if (kernel == StreamKernel::fma) return make_fma(problem);
  if (kernel == StreamKernel::latency) return std::make_unique<Latency>(problem);
  const bool nontemporal = algorithm == "nontemporal";
  return problem.precision() == Precision::fp32 ? make_memory<float>(problem, nontemporal)
                                                : make_memory<double>(problem, nontemporal);
}

const Maker add_stream{
    makers(), problem_kind<StreamProblem>(), &make_stream, {"regular", "nontemporal"}};

}  // namespace
}  // namespace assay::native
