#include "comm/collectives_benchmark.hpp"

#include <fmt/format.h>

#include <iostream>
#include <limits>
#include <mutex>

#include "comm/algorithms/algorithm.hpp"
#include "comm/collective.hpp"
#include "comm/joined.hpp"
#include "comm/layers/layers.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/program/launched_ranks.hpp"

namespace assay {
namespace {

DataType type_of(const std::string& precision) {
  return precision == "int32" ? DataType::s32 : data_type(precision);
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : algorithms()) names.emplace_back(entry.name);
  return names;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

int number_of_ranks(const std::string& flag, const std::string& text, int most) {
  return static_cast<int>(whole_number(flag, text, 0, static_cast<std::uint64_t>(most)));
}

CollectiveShape shape_of(const Settings& settings) {
  CollectiveShape shape;
  shape.pattern = pattern_of(settings.at("collective"));
  shape.type = type_of(settings.at("precision"));
  shape.op = reduce_op(settings.at("op"));
  shape.bytes = std::stoll(settings.at("problem"));
  shape.ranks = std::stoi(settings.at("ranks"));
  shape.in_place = settings.at("placement") == "in_place";
  shape.root = std::stoi(settings.at("root"));
  return shape;
}

Dimension axis(std::string name, std::string help, std::vector<std::string> values,
               std::vector<std::string> defaults, std::string omit = "") {
  return make_dimension(std::move(name), std::move(help), std::move(values), std::move(defaults),
                        "", std::move(omit));
}

/// Not what is communicated, but how.
Dimension of_system(Dimension made) {
  made.traits.of_system = true;
  return made;
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
  Dimension transport =
      of_system(axis("transport", "library that moves the data (see `assay list backends`)",
                     dimension::backends_of("collectives"), {"mpi"}));
  transport.traits.plugin = true;
  Dimension bytes = dimension::problem({"4", "400000", "16777216"});
  bytes.flags = {"problem", "bytes"};
  bytes.help =
      "message size: bytes (400000, 64K), a range FROM:TO:FACTOR (8:64M:2), elements (n100000), a "
      "list, or LIST/NAME; K, M and G are KiB, MiB and GiB";
  Dimension intra_node = axis("inside",
                              "what a hybrid algorithm uses inside a node instead of NCCL: a "
                              "transport, shared_memory, or same (as between nodes)",
                              {}, {"same"}, "same");
  intra_node.flags = {"intra_node"};
  std::vector<Dimension> all{
      axis("collective", "collective call", pattern_names(), {"allreduce"}),
      dimension::precision({"fp64", "fp32", "fp16", "bf16", "int32"}, {"fp32"}),
      transport,
      of_system(axis("algorithm", "algorithm; library: the transport's own", algorithm_names(),
                     {"library"})),
      bytes,
      found_dimension("ranks", "r"),
      found_dimension("nodes", "n"),
      axis("op", "reduction operator", reduce_op_names(), {"sum"}, "sum"),
      axis("placement", "separate send and receive buffers, or one buffer for both",
           {"out_of_place", "in_place"}, {"out_of_place"}, "out_of_place"),
      axis("buffers",
           "ordinary memory, or memory that the algorithm or library allocates for this purpose "
           "(MPI_Alloc_mem, memory shared by the ranks of a node; nccl-tests' -R)",
           {"ordinary", "registered"}, {"ordinary"}, "ordinary"),
      axis("mode", "blocking call, or nonblocking call and wait", {"blocking", "nonblocking"},
           {"blocking"}, "blocking"),
      axis("root", "root rank of broadcast and reduce", {}, {"0"}, "0"),
      intra_node,
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

void CollectivesBenchmark::complete(Settings& settings, const RankCount& started) const {
  const Pattern pattern = pattern_of(settings.at("collective"));
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
  if (pattern == Pattern::sendrecv) settings["mode"] = "blocking";
  if (!has_root(pattern)) settings["root"] = "0";
  settings["root"] =
      std::to_string(number_of_ranks("--root", settings.at("root"), started.ranks - 1));

  complete_layers(*this, settings);
  std::string& problem = settings.at("problem");
  if (problem.starts_with("n"))
    problem = std::to_string(std::stoll(problem.substr(1)) *
                             static_cast<std::int64_t>(size_of(type_of(settings["precision"]))));
  const int imposed = number_of_ranks("--ranks-per-node", settings.at("ranks_per_node"),
                                      std::numeric_limits<int>::max());
  settings["ranks_per_node"] = std::to_string(imposed);
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] =
      std::to_string(imposed == 0 ? started.nodes : (started.ranks + imposed - 1) / imposed);
  CollectiveProblem(shape_of(settings));  // throws InputError
}

std::unique_ptr<Problem> CollectivesBenchmark::problem(const Settings& settings) const {
  return std::make_unique<CollectiveProblem>(shape_of(settings));
}

Result<std::unique_ptr<Workload>> CollectivesBenchmark::prepare(const Case& wanted,
                                                                CaseContext& context) const {
  static std::once_flag said;
  if (launched().by.empty()) std::call_once(said, say_one_rank);
  return collective_workload(wanted, shape_of(wanted.settings), context);
}

std::unique_ptr<Communicator> CollectivesBenchmark::connect(Plugins& plugins) const {
  return launched_ranks(plugins);
}

}  // namespace assay
