// ratio: mpi/library over a bare MPI_Allreduce loop, 2 ranks, 1 KiB to 64 MiB, the worst size
// target: <= 1.03
// statistic: max
// pairs: 30
// needs: MPI MPI::MPI_CXX

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>

#include "comm/algorithms/algorithm.hpp"
#include "comm/collective_operation.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/timing.hpp"
#include "core/program/plugins.hpp"
#include "tests/self_benchmark/support/bound_operation.hpp"
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

double clock_now() { return MPI_Wtime(); }

/// The paired ratio of one size.
double ratio_of(std::int64_t bytes, int pairs, Communicator& ranks, Device& device) {
  const int samples = bytes > 1 << 20 ? 5 : 31;  // of each side in a pair: short ones vary more
  CollectiveShape shape;
  shape.bytes = bytes;
  shape.ranks = ranks.size();
  const CollectiveProblem problem(shape);
  auto made = algorithms().at(0).make(ranks, ranks, {});
  for (const AlgorithmEntry& entry : algorithms())
    if (entry.name == "library") made = entry.make(ranks, ranks, {});
  self_benchmark::BoundOperation ours(
      collective_operation(problem, std::move(std::get<std::unique_ptr<Communicator>>(made)),
                           {"library", "mpi", false}),
      device, [&](const TensorSpec& spec) {
        return Values(Values::Kind::fixed, 1, spec.name, spec.type, 20).of_rank(ranks.rank());
      });
  ours.run(ours.stream());  // prepares
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
    ranks.allreduce_max(times);
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
  return compute_paired_ratio(a, b).value;
}

nlohmann::json overhead(int pairs) {
  Plugins plugins;
  Result<Backend*> backend = plugins.open("mpi");
  if (const auto* refusal = std::get_if<Unsupported>(&backend)) return {{"skip", refusal->reason}};
  const auto alone = make_serial_communicator();
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
    if (!told.is_null() && read_launch_info().rank == 0) std::cout << told << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 7;
  }
}
