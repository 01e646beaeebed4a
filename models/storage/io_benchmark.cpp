#include "models/storage/io_benchmark.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/launched_ranks.hpp"
#include "models/storage/io_problem.hpp"
#include "models/storage/io_workload.hpp"

namespace assay {
namespace {

using MakeIo = std::unique_ptr<Workload> (*)(const IoSetup&, std::unique_ptr<JobFolder>,
                                             Communicator&);
struct IoOperation {
  const char* name;
  IoKind kind;
  MakeIo make;
};
constexpr IoOperation io_operations[] = {{"write", IoKind::write, write_workload},
                                         {"read", IoKind::read, read_workload},
                                         {"metadata", IoKind::metadata, make_metadata_workload},
                                         {"random", IoKind::random, make_random_workload}};

const IoOperation& io_operation(const std::string& name) {
  for (const IoOperation& each : io_operations)
    if (name == each.name) return each;
  throw InputError(fmt::format("--operation {}: there is no such operation. See --help.", name));
}

struct IoCase {
  const IoOperation* operation = nullptr;
  IoSettings settings;
};

void expect_places(const std::string& problem, const IoSize& size, int ranks) {
  const std::int64_t places = size.bytes() / ranks / place_bytes(size.block_bytes());
  if (size.count > places)
    throw InputError(
        fmt::format("io problem '{}': {} different reads of a rank do not fit the {} places of its "
                    "file on {} rank{}. Use a smaller n or a larger mb.",
                    problem, size.count, places, ranks, ranks == 1 ? "" : "s"));
}

class IoBenchmark final : public Benchmark {
 public:
  std::string name() const override { return "io"; }
  std::string description() const override {
    return "Storage: checkpoints written and read back by another rank, operations on metadata, "
           "small random reads; with the bytes that storage has moved. Several ranks: "
           "mpirun -n RANKS.";
  }
  std::vector<Example> examples() const override {
    return {{"assay-io --operation write,read --size 20 --max-time 1",
             "a checkpoint of 20 MB in the current folder"},
            {"assay-io --operation metadata --count 100 --max-time 1",
             "100 files: created, looked up, opened, removed"},
            {"assay-io --operation random --size 20 --count 100 --block 4,64 --max-time 1",
             "100 reads of 4 and of 64 KiB"}};
  }

  std::vector<Dimension> dimensions() const override {
    std::vector<std::string> operations;
    for (const IoOperation& each : io_operations) operations.emplace_back(each.name);
    Dimension problem = dimension::problem({"mb100"});
    problem.help =
        "megabytes of all ranks, number of files or reads of each rank, KiB of a read: mb100 "
        "(write, read), n1000 (metadata), mb100n1000kib4 (random)";
    Dimension folder = dimension::of_system(make_dimension(
        "folder", "folder on the storage that is measured, which all ranks share", {}, {"."}));
    folder.traits.in_id = false;
    folder.traits.file = folder.traits.over_suite = true;
    Dimension keep = dimension::of_system(make_dimension(
        "keep", "whether the files stay, as assay-io.kept.*", {"no", "yes"}, {"no"}));
    keep.traits.in_id = false;
    return {
        make_dimension("operation",
                       "write: a checkpoint, a shard of each rank, with fsync; read: by another "
                       "rank, not from the cache; metadata: create, stat, open, unlink; random: "
                       "small reads of a data set",
                       operations, {"write", "read"}),
        std::move(problem),
        dimension::field("size", "mb", "megabytes (10^6 bytes) of the checkpoint or data set"),
        dimension::field("count", "n", "files (metadata) or reads (random) of each rank"),
        dimension::field("block", "kib", "KiB of a random read, 4 to 128"),
        make_determined_dimension("ranks", "r"),
        make_determined_dimension("nodes", "n"),
        dimension::of_system(make_determined_dimension("file_system", "")),
        std::move(folder),
        std::move(keep)};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_text(parse_io(descriptor));
  }

  std::any complete(Settings& settings, const RankCount& started) const override {
    IoCase io;
    io.operation = &io_operation(settings.at("operation"));
    io.settings.size = complete_size(parse_io(settings.at("problem")), io.operation->kind);
    io.settings.ranks = started.ranks;
    settings["problem"] = to_text(io.settings.size);
    settings["ranks"] = std::to_string(started.ranks);
    settings["nodes"] = std::to_string(started.nodes);
    settings["file_system"] = find_file_system(settings.at("folder"));
    if (io.operation->kind == IoKind::random)
      expect_places(settings.at("problem"), io.settings.size, started.ranks);
    return io;
  }

  bool ranks_share(const Case&) const override { return true; }

  std::shared_ptr<const Problem> problem(const Case& selected) const override {
    const auto& io = typed_settings<IoCase>(selected);
    return std::make_shared<IoProblem>(io.operation->kind, io.settings.size, io.settings.ranks);
  }

  Result<std::unique_ptr<Workload>> prepare(const Case& selected,
                                            CaseContext& context) const override {
    const Settings& settings = selected.settings;
    const auto& io = typed_settings<IoCase>(selected);
    IoSetup setup{io.settings,        IoClaims(settings),    context.seed,
                  context.ranks_here, settings.at("folder"), settings.at("file_system")};
    std::unique_ptr<JobFolder> folder;
    try {
      folder =
          std::make_unique<JobFolder>(setup.folder, settings.at("keep") == "yes", context.ranks);
    } catch (const InputError& error) {  // does not affect other cases of this process
      throw CaseError(error.what());
    }
    StorageProbe probe;
    throw_on_all(context.ranks, [&] {
      probe = probe_storage(folder->path(), setup.file_system, context.ranks.rank());
    });
    if (std::string why = find_fault_of_any(probe.why_no_storage, context.ranks); !why.empty())
      return Unsupported{std::move(why)};
    setup.device_counts = probe.device_counts;
    return io.operation->make(setup, std::move(folder), context.ranks);
  }

  std::unique_ptr<Communicator> connect(Plugins& plugins) const override {
    return connect_launched_ranks(plugins);
  }
};

}  // namespace

const Benchmark& io_benchmark() {
  static const IoBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
