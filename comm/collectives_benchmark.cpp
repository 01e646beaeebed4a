#include "comm/collectives_benchmark.hpp"

#include <iostream>
#include <limits>
#include <mutex>

#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/levels.hpp"
#include "comm/bisection.hpp"
#include "comm/joined.hpp"
#include "comm/layers/layers.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/program/launched_ranks.hpp"
#include "core/program/settings_reader.hpp"

namespace assay {
namespace {

DataType parse_type(const std::string& precision) {
  return precision == "int32" ? DataType::s32 : data_type(precision);
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : algorithms()) names.emplace_back(entry.name);
  return names;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

Dimension axis(std::string name, std::string help, std::vector<std::string> values,
               std::vector<std::string> defaults, std::string omit = "") {
  return make_dimension(std::move(name), std::move(help), std::move(values), std::move(defaults),
                        "", std::move(omit));
}

void say_one_rank() {
  std::cerr << "assay-collectives: one rank: nothing is communicated, and no bandwidth is reported "
               "(no launcher started this process). Start it with mpirun -n 2 assay-collectives.\n";
}

}  // namespace

std::string CollectivesBenchmark::description() const {
  return "Allreduce and other collectives over every transport and algorithm. Start it with "
         "mpirun -n RANKS.";
}

std::vector<Dimension> CollectivesBenchmark::dimensions() const {
  Dimension transport = dimension::of_system(
      axis("transport", "library that moves the data (see `assay list backends`)",
           dimension::list_backends("collectives"), {"mpi"}));
  transport.traits.plugin = true;
  Dimension bytes = dimension::problem({"4", "400000", "16777216"});
  bytes.flags = {"problem", "bytes"};
  bytes.help =
      "message size: bytes (400000, 64K), a range FROM:TO:FACTOR (8:64M:2), elements (n100000), a "
      "list, or LIST/NAME; K, M and G are KiB, MiB and GiB";
  Dimension intra_node = axis("inside",
                              "transport of a hybrid algorithm inside a node, instead of NCCL: a "
                              "transport, shared_memory, or same (as between nodes)",
                              {}, {"same"}, "same");
  intra_node.flags = {"intra_node"};
  std::vector<Dimension> all{
      axis("collective", "collective call", list_pattern_names(), {"allreduce"}),
      dimension::precision({"fp64", "fp32", "fp16", "bf16", "int32"}, {"fp32"}),
      transport,
      dimension::of_system(axis("algorithm", "algorithm; library: the transport's own",
                                algorithm_names(), {"library"})),
      bytes,
      make_determined_dimension("ranks", "r"),
      make_determined_dimension("nodes", "n"),
      axis("op", "reduction operator", list_reduce_op_names(), {"sum"}, "sum"),
      axis("placement", "separate send and receive buffers, or one buffer for both",
           {"out_of_place", "in_place"}, {"out_of_place"}, "out_of_place"),
      axis("buffers",
           "ordinary memory, or memory that the algorithm or library allocates for this purpose "
           "(MPI_Alloc_mem, memory shared by the ranks of a node; nccl-tests' -R)",
           {"ordinary", "registered"}, {"ordinary"}, "ordinary"),
      axis("mode", "blocking call, or nonblocking call and wait", {"blocking", "nonblocking"},
           {"blocking"}, "blocking"),
      axis("groups",
           "ranks of a group, of which all make the call at once; 0: one call of all ranks", {},
           {"0"}, "0"),
      axis("beside",
           "bytes of the alltoall that every second rank makes while the others call: their "
           "latencies "
           "alone and beside it; 0: none",
           {}, {"0"}, "0"),
      axis("grouping", "block: consecutive ranks are a group; rail: every n-th of n groups",
           {"block", "rail"}, {"block"}, "block"),
      axis(
          "rounds",
          "permutations of bisection, in none of which two ranks meet again; auto: all of up to 16 "
          "ranks, else 15",
          {}, {"auto"}, "auto"),
      axis("zipf",
           "exponent of the distribution of alltoallv's parts (rank r gets 1 / (r + 1)^zipf); 0: "
           "equal parts",
           {}, {"1"}, "1"),
      axis("root", "root rank of broadcast and reduce", {}, {"0"}, "0"),
      intra_node,
      axis("levels",
           "members of each level of ddl, innermost first (2x4x8); auto: the ranks of a node, and "
           "the "
           "nodes",
           {}, {"auto"}, "auto"),
      axis("ranks_per_node", "treat this many consecutive ranks as a node; 0: nodes as they are",
           {}, {"0"}, "0"),
      dimension::device()};
  for (Dimension& layer : layer_dimensions()) all.push_back(std::move(layer));
  return all;
}

std::string CollectivesBenchmark::canonical(const std::string& descriptor) const {
  if (descriptor.starts_with("n"))
    return "n" + std::to_string(whole_number("--bytes n", descriptor.substr(1), 0, most_bytes));
  return std::to_string(size_number("--bytes", descriptor, most_bytes));
}

std::vector<std::string> CollectivesBenchmark::descriptors(const std::string& text) const {
  if (text.find(':') == text.npos) return {text};
  std::vector<std::string> sizes;
  for (const std::int64_t size : size_range("--bytes", text, most_bytes))
    sizes.push_back(std::to_string(size));
  return sizes;
}

std::any CollectivesBenchmark::complete(Settings& settings, const RankCount& started) const {
  CollectivesSettings read;
  CollectiveShape shape;
  const Pattern pattern = find_pattern(settings.at("collective"));
  // Settings that have no effect get one value.
  if (pattern == Pattern::barrier) {
    settings["precision"] = "fp32";
    settings["problem"] = "0";
  }
  if (!reduces(pattern)) settings["op"] = "sum";
  if (pattern == Pattern::barrier || pattern == Pattern::broadcast)
    settings["placement"] = "out_of_place";  // no buffer, or one for both
  if (pattern == Pattern::barrier) settings["buffers"] = "ordinary";
  if (settings.at("transport") == "nccl") settings["device"] = "gpu";  // the only device of nccl
  if (is_exchange(pattern)) settings["mode"] = "blocking";
  if (pattern != Pattern::bisection) settings["rounds"] = "auto";
  if (pattern != Pattern::alltoallv) settings["zipf"] = "1";
  if (!has_root(pattern)) settings["root"] = "0";
  if (settings.at("algorithm") != "ddl") settings["levels"] = "auto";
  (void)read_levels(settings.at("levels"));  // throws InputError
  SettingsReader reader(settings);
  reader.whole("groups", read.group, 0, std::numeric_limits<int>::max());
  if (read.group == 0) settings["grouping"] = "block";
  read.rails = settings.at("grouping") == "rail";
  shape.beside = size_number("--beside", settings.at("beside"), most_bytes);
  settings["beside"] = std::to_string(shape.beside);
  shape.ranks = read.group > 0 ? read.group : started.ranks;
  reader.whole("root", shape.root, 0, static_cast<std::uint64_t>(shape.ranks - 1));
  reader.number("zipf", shape.zipf, 0, 10);
  if (pattern == Pattern::bisection) {
    if (settings.at("rounds") == "auto")
      settings["rounds"] = std::to_string(choose_default_rounds(shape.ranks));
    reader.whole("rounds", shape.rounds, 1, std::numeric_limits<int>::max());
  }

  read.replay = complete_layers(*this, settings);
  std::string& problem = settings.at("problem");
  const bool counted = problem.starts_with("n");
  shape.bytes = std::stoll(problem.substr(counted ? 1 : 0));
  shape.type = parse_type(settings.at("precision"));
  if (counted) shape.bytes *= static_cast<std::int64_t>(size_of(shape.type));
  problem = std::to_string(shape.bytes);
  int imposed = 0;
  reader.whole("ranks_per_node", imposed, 0, std::numeric_limits<int>::max());
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] =
      std::to_string(imposed == 0 ? started.nodes : (started.ranks + imposed - 1) / imposed);
  shape.pattern = pattern;
  shape.op = reduce_op(settings.at("op"));
  shape.in_place = settings.at("placement") == "in_place";
  read.problem = std::make_shared<CollectiveProblem>(shape);
  return read;
}

std::shared_ptr<const Problem> CollectivesBenchmark::problem(const Case& selected) const {
  return typed_settings<CollectivesSettings>(selected).problem;
}

Result<std::unique_ptr<Workload>> CollectivesBenchmark::prepare(const Case& wanted,
                                                                CaseContext& context) const {
  static std::once_flag said;
  if (read_launch_info().by.empty()) std::call_once(said, say_one_rank);
  return make_collective_workload(wanted, typed_settings<CollectivesSettings>(wanted), context);
}

std::unique_ptr<Communicator> CollectivesBenchmark::connect(Plugins& plugins) const {
  return connect_launched_ranks(plugins);
}

}  // namespace assay
