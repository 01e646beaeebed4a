#include "comm/collectives_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "comm/algorithms/algorithm.hpp"
#include "comm/collective.hpp"
#include "comm/joined.hpp"
#include "comm/layers/layers.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"

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

/// The value's place in a list of names.
template <class Enum>
Enum enum_of(const std::string& value, const std::vector<std::string>& names) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), value) - names.begin());
}

const std::vector<std::string>& op_names() {
  static const std::vector<std::string> names{"sum", "min", "max", "average"};
  return names;
}

std::int64_t whole(const std::string& text, const std::string& what, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > most)
    throw InputError(
        fmt::format("'{}' is no {} (a number from 0 to {} was expected).", text, what, most));
  return number;
}

CollectiveShape shape_of(const Settings& settings) {
  CollectiveShape shape;
  shape.pattern = enum_of<Pattern>(settings.at("collective"), pattern_names());
  shape.type = type_of(settings.at("precision"));
  shape.op = enum_of<ReduceOp>(settings.at("op"), op_names());
  shape.bytes = std::stoll(settings.at("problem"));
  shape.ranks = std::stoi(settings.at("ranks"));
  shape.in_place = settings.at("placement") == "in_place";
  shape.root = std::stoi(settings.at("root"));
  return shape;
}

Dimension axis(std::string name, std::string help, std::vector<std::string> values,
               std::vector<std::string> defaults, std::string omit = "") {
  Dimension made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.values = std::move(values);
  made.defaults = std::move(defaults);
  made.omit = std::move(omit);
  return made;
}

Dimension counted(std::string name, std::string prefix) {
  Dimension made = axis(std::move(name), "", {}, {});
  made.prefix = std::move(prefix);
  made.found = true;
  return made;
}

}  // namespace

std::string CollectivesBenchmark::description() const {
  return "allreduce and the other collectives, over every transport and algorithm. Start it by "
         "mpirun -n RANKS.";
}

std::vector<Dimension> CollectivesBenchmark::dimensions() const {
  Dimension transport = axis("transport", "who moves the data (assay list backends)",
                             {"mpi", "mpich", "gloo", "oneccl", "nccl"}, {"mpi"});
  transport.plugin = true;
  Dimension bytes = dimension::problem({"4", "400000", "16777216"});
  bytes.also = "bytes";
  bytes.help =
      "bytes of a rank's whole vector (4, 64KiB), elements (n100000), a list, or LIST/NAME";
  std::vector<Dimension> all{
      axis("collective", "what is called", pattern_names(), {"allreduce"}),
      dimension::precision({"fp64", "fp32", "fp16", "bf16", "int32"}, {"fp32"}),
      transport,
      axis("algorithm", "library is the transport's own", algorithm_names(), {"library"}),
      bytes,
      counted("ranks", "r"),
      counted("nodes", "n"),
      axis("op", "of what reduces", op_names(), {"sum"}, "sum"),
      axis("placement", "two buffers, or one for both", {"out_of_place", "in_place"},
           {"out_of_place"}, "out_of_place"),
      axis("buffers",
           "in ordinary memory, or in what the algorithm or its library gives for it "
           "(MPI_Alloc_mem, "
           "memory that the ranks of a node see; nccl-tests' -R)",
           {"ordinary", "registered"}, {"ordinary"}, "ordinary"),
      axis("mode", "the blocking call, or started and waited for", {"blocking", "nonblocking"},
           {"blocking"}, "blocking"),
      axis("root", "rank that broadcasts, or is reduced to", {}, {"0"}, "0"),
      axis("inside",
           "what a hybrid uses within a node in NCCL's place: a transport, shared_memory, or "
           "same (as between nodes)",
           {}, {"same"}, "same"),
      axis("ranks_per_node", "impose nodes of so many consecutive ranks; 0: as they are", {}, {"0"},
           "0"),
      dimension::device()};
  for (Dimension& one : layer_dimensions()) all.push_back(std::move(one));
  return all;
}

std::string CollectivesBenchmark::canonical(const std::string& descriptor) const {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const bool elements = descriptor.starts_with("n");
  std::string digits = elements ? descriptor.substr(1) : descriptor;
  std::int64_t unit = 1;
  if (!elements)
    for (const auto& [suffix, factor] :
         {std::pair{"KiB", 10}, std::pair{"MiB", 20}, std::pair{"GiB", 30}})
      if (digits.ends_with(suffix)) {
        digits.resize(digits.size() - 3);
        unit = std::int64_t{1} << factor;
        break;
      }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0 ||
      number > most / unit)
    throw InputError(fmt::format(
        "'{}' is no size of a collective (a number of bytes was expected). Write 400000, 64KiB, or "
        "n100000 for elements.",
        descriptor));
  return (elements ? "n" : "") + std::to_string(number * unit);
}

void CollectivesBenchmark::complete(Settings& settings, const RankCount& started) const {
  const Pattern pattern = enum_of<Pattern>(settings.at("collective"), pattern_names());
  // What has no meaning gets one value.
  if (pattern == Pattern::barrier) {
    settings["precision"] = "fp32";
    settings["problem"] = "0";
  }
  if (!reduces(pattern)) settings["op"] = "sum";
  if (pattern == Pattern::barrier || pattern == Pattern::broadcast)
    settings["placement"] = "out_of_place";  // no buffer, or one for both
  if (pattern == Pattern::barrier) settings["buffers"] = "ordinary";
  if (settings.at("transport") == "nccl") settings["device"] = "gpu";  // it has no other
  if (pattern == Pattern::sendrecv) settings["mode"] = "blocking";
  if (!has_root(pattern)) settings["root"] = "0";
  settings["root"] =
      std::to_string(whole(settings.at("root"), "rank of this job", started.ranks - 1));

  complete_layers(*this, settings);
  std::string& problem = settings.at("problem");
  if (problem.starts_with("n"))
    problem = std::to_string(std::stoll(problem.substr(1)) *
                             static_cast<std::int64_t>(size_of(type_of(settings["precision"]))));
  const std::int64_t imposed =
      whole(settings.at("ranks_per_node"), "number of ranks", std::numeric_limits<int>::max());
  settings["ranks_per_node"] = std::to_string(imposed);
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] =
      std::to_string(imposed == 0 ? started.nodes : (started.ranks + imposed - 1) / imposed);
  CollectiveProblem(shape_of(settings));  // its errors are of the input
}

std::unique_ptr<Problem> CollectivesBenchmark::problem(const Settings& settings) const {
  return std::make_unique<CollectiveProblem>(shape_of(settings));
}

Result<std::unique_ptr<Workload>> CollectivesBenchmark::prepare(const Case& one,
                                                                CaseContext& context) const {
  return collective_workload(one, shape_of(one.settings), context);
}

std::unique_ptr<Communicator> CollectivesBenchmark::connect(Plugins& plugins) const {
  const Launched start = launched();
  if (start.size == 1) return serial_communicator();
  const std::unique_ptr<Communicator> alone = serial_communicator();
  std::vector<std::string> reasons;
  for (const char* name : {"mpi", "mpich"}) {
    Result<Backend*> opened = plugins.open(name);
    if (const auto* refusal = std::get_if<Unsupported>(&opened)) {
      reasons.push_back(refusal->reason);
      continue;
    }
    Result<std::unique_ptr<Communicator>> made = std::get<Backend*>(opened)->connect({}, *alone);
    if (auto* ranks = std::get_if<std::unique_ptr<Communicator>>(&made)) return std::move(*ranks);
    reasons.push_back(std::get<Unsupported>(made).reason);
  }
  throw CaseError(
      fmt::format("rank {} on {} cannot join the {} processes that {} has started ({}).",
                  start.rank, alone->host(), start.size, start.by, join(reasons, "; ")));
}

}  // namespace assay
