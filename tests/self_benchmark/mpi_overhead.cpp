// ratio: assay-collectives' mpi/library over a bare MPI_Allreduce with the same barrier, 2 ranks, 1
// KiB to 64 MiB, the worst size target: <= 1.03 statistic: max pairs: 30 needs: MPI MPI::MPI_CXX

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "comm/algorithms/algorithm.hpp"
#include "comm/collective_operation.hpp"
#include "core/plugins.hpp"
#include "core/statistics.hpp"
#include "core/timing.hpp"
#include "tests/self_benchmark/support/pairs.hpp"
#include "tests/self_benchmark/support/ranks.hpp"

extern "C" void* __libc_malloc(std::size_t);  // glibc's own, under the one below

namespace {
std::atomic<bool> counting = false;
std::atomic<long> allocations = 0;
}  // namespace

/// Every allocation of this process passes here, those of the plugin and of MPI, too.
extern "C" void* malloc(std::size_t bytes) {
  if (counting) ++allocations;
  return __libc_malloc(bytes);
}

namespace {

using namespace assay;

constexpr int samples = 5;  // of each side in a pair

/// The operation on tensors that the bare loop uses, too.
class Allreduce final : public Workload {
 public:
  Allreduce(std::unique_ptr<Operation> operation, Device& device, int rank)
      : operation_(std::move(operation)), device_(device) {
    std::vector<Tensor*> bound;
    for (const TensorSpec& spec : operation_->arguments()) {
      tensors_.push_back(device.allocate(spec));
      const Values values = Values(Values::Kind::fixed, 1, spec.name, spec.type, 20).of_rank(rank);
      device.put(*tensors_.back(),
                 [&](std::int64_t first, std::span<double> out) { values.fill(first, out); });
      bound.push_back(tensors_.back().get());
    }
    operation_->bind(bound);
    operation_->run(device.stream());  // prepares
  }
  Stream& stream() override { return device_.stream(); }
  void reset() override {}
  void run(Stream& stream) override { operation_->run(stream); }
  bool batchable() const override { return true; }
  Verification verify_before() override { return {}; }
  Verification verify_after() override { return {}; }
  Executed executed() const override { return operation_->executed(); }
  std::map<std::string, double> work() const override { return {}; }
  std::map<std::string, double> setup() const override { return {}; }
  void* data(std::size_t i) { return tensors_[i]->data(); }

 private:
  std::unique_ptr<Operation> operation_;
  Device& device_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
};

double clock_now() { return MPI_Wtime(); }

/// The paired ratio of one size.
double ratio_of(std::int64_t bytes, int pairs, Communicator& ranks, Device& device) {
  CollectiveShape shape;
  shape.bytes = bytes;
  shape.ranks = ranks.size();
  const CollectiveProblem problem(shape);
  auto made = algorithms().at(0).make(ranks, ranks, {});
  for (const AlgorithmEntry& entry : algorithms())
    if (entry.name == "library") made = entry.make(ranks, ranks, {});
  Allreduce ours(
      collective_operation(problem, std::move(std::get<std::unique_ptr<Communicator>>(made)),
                           {"library", false}),
      device, ranks.rank());
  TimingOptions options;
  options.max_time = 1e3;
  options.min_samples = options.max_samples = samples;
  int batch = 1;
  const auto timed = [&] {
    const Timing timing = measure(ours, ranks, options);
    batch = timing.batch;
    return median(timing.samples);
  };
  const auto count = static_cast<int>(bytes / 4);
  const auto bare = [&] {
    std::vector<double> times;
    for (int i = 0; i <= samples; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = clock_now();
      for (int run = 0; run < batch; ++run)
        MPI_Allreduce(ours.data(0), ours.data(1), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      times.push_back((clock_now() - start) / batch);
    }
    times.erase(times.begin());  // not counted, as the other side's warm-up
    ranks.maximum(times);
    return median(times);
  };
  timed();  // finds the batch that the bare loop takes, too
  std::vector<double> a, b;
  for (const nlohmann::json& pair : self_benchmark::alternate(pairs, timed, bare)) {
    a.push_back(pair[0]);
    b.push_back(pair[1]);
  }

  // Nothing is allocated in a run beyond what MPI does itself.
  const auto allocated = [&](auto&& body) {
    ranks.barrier();
    allocations = 0;
    counting = true;
    for (int i = 0; i < 10; ++i) body();
    counting = false;
    return allocations.load();
  };
  const long its = allocated([&] {
    MPI_Allreduce(ours.data(0), ours.data(1), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
  const long mine = allocated([&] { ours.run(ours.stream()); });
  if (mine > its)
    throw std::runtime_error(std::to_string(mine - its) + " allocations in ten runs of " +
                             std::to_string(bytes) + " bytes are ours. Mend it first.");
  return paired_ratio(a, b).value;
}

nlohmann::json overhead(int pairs) {
  Plugins plugins;
  Made<Backend*> backend = plugins.open("mpi");
  if (const auto* refusal = std::get_if<Unsupported>(&backend)) return {{"skip", refusal->reason}};
  const auto alone = serial_communicator();
  auto joined = std::get<Backend*>(backend)->connect({}, *alone);
  if (const auto* refusal = std::get_if<Unsupported>(&joined)) return {{"skip", refusal->reason}};
  Communicator& ranks = *std::get<std::unique_ptr<Communicator>>(joined);
  Device& device = *std::get<Device*>(std::get<Backend*>(backend)->device({}));
  nlohmann::json all = nlohmann::json::array();
  std::string note;
  for (const std::int64_t kib : {1, 16, 256, 4096, 65536}) {
    const double ratio = ratio_of(kib << 10, pairs, ranks, device);
    all.push_back({ratio, 1});
    note += (note.empty() ? "" : ", ") + std::to_string(kib) + " KiB " + std::to_string(ratio);
  }
  if (ranks.rank() > 0) return nullptr;
  return {{"pairs", all}, {"unit", "1"}, {"note", note}};
}

}  // namespace

int main(int argc, char** argv) {
  self_benchmark::on_ranks(2, argc, argv);
  try {
    const nlohmann::json told = overhead(self_benchmark::pairs_from(argc, argv));
    if (!told.is_null() && launched().rank == 0) std::cout << told << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 7;
  }
}
