// The contract of one transport, checked by the ranks of a launcher:
//   mpirun -n 4 contract TRANSPORT [--control mpi|mpich] [--ranks-per-node N] [--large]
//   [--algorithm NAME] [--expect-nodes N]
// Exit: 0 all is right, 1 something is wrong (told with its rank) or the transport is unavailable,
// 77 something was not tried, for want of memory (told).
#include <fmt/format.h>

#include <cstring>
#include <iostream>

#include "comm/algorithms/algorithm.hpp"
#include "core/base/error.hpp"
#include "core/program/plugins.hpp"
#include "tests/transports/contract.hpp"

namespace {

using namespace assay;

struct Arguments {
  std::string transport = "mpi", control = "mpi", ranks_per_node = "0", algorithm = "library";
  int expect_nodes = 0;
  bool large = false, loud = false;
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (++i >= argc) throw InputError(word + " needs a value");
      return std::string(argv[i]);
    };
    if (word == "--control")
      result.control = value();
    else if (word == "--ranks-per-node")
      result.ranks_per_node = value();
    else if (word == "--algorithm")
      result.algorithm = value();
    else if (word == "--expect-nodes")
      result.expect_nodes = std::stoi(value());
    else if (word == "--loud")
      result.loud = true;
    else if (word == "--large")
      result.large = true;
    else
      result.transport = word;
  }
  return result;
}

/// Every rank opens the plugin alone; all must have it.
Backend* open(Plugins& plugins, const std::string& name, Communicator& ranks) {
  const Result<Backend*> opened = plugins.open(name);
  const auto* refusal = std::get_if<Unsupported>(&opened);
  for (const std::string& reason : ranks.allgather(refusal ? refusal->reason : ""))
    if (!reason.empty()) throw CaseError(reason);
  return std::get<Backend*>(opened);
}

std::unique_ptr<Communicator> connect(Plugins& plugins, const std::string& name,
                                      const Options& options, Communicator& known) {
  Result<std::unique_ptr<Communicator>> made = open(plugins, name, known)->connect(options, known);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) throw CaseError(refusal->reason);
  return std::move(std::get<std::unique_ptr<Communicator>>(made));
}

std::unique_ptr<Communicator> algorithm(const std::string& name, Communicator& transport,
                                        const Options& options) {
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.name != name) continue;
    Result<std::unique_ptr<Communicator>> made = entry.make(transport, transport, options);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) throw CaseError(refusal->reason);
    return std::move(std::get<std::unique_ptr<Communicator>>(made));
  }
  throw CaseError("no algorithm is called " + name);
}

int check(const Arguments& arguments) {
  Plugins plugins;
  const auto serial = make_serial_communicator();
  std::unique_ptr<Communicator> control, transport, ranks;
  Options options;
  try {
    control = connect(plugins, arguments.control, {}, *serial);
    options.settings = {{"transport", arguments.transport},
                        {"ranks_per_node", arguments.ranks_per_node},
                        {"device", "cpu"}};
    transport = connect(plugins, arguments.transport, options, *control);
    ranks = algorithm(arguments.algorithm, *transport, options);
  } catch (const CaseError& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
  testing::Contract contract(*ranks, arguments.loud);
  std::string nodes;
  if (arguments.expect_nodes > 0 && ranks->nodes() != arguments.expect_nodes)
    nodes = fmt::format("{} nodes, expected {}", ranks->nodes(), arguments.expect_nodes);
  if (arguments.large) {
    // An algorithm of ours needs little beside the buffers; a library may copy them.
    contract.large(arguments.algorithm == "library" ? 2 : 1.1);
  } else {
    contract.talk();
    contract.messages();
    contract.tags();
    contract.collectives();
    contract.splits();
    contract.first_calls();
    contract.calls_under_way();
  }
  std::string mine = nodes;
  for (const std::string& failure : contract.failures()) mine += "\n  " + failure;
  if (!arguments
           .large) {  // an algorithm of ours has its messages under way in the order of its own
    const auto ring = algorithm("ring", *transport, options);
    testing::Contract over(*ring, arguments.loud);
    over.calls_under_way();
    for (const std::string& failure : over.failures()) mine += "\n  ring: " + failure;
  }
  const std::vector<std::string> all = control->allgather(mine);
  bool right = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    right = false;
    if (control->rank() == 0)
      std::cout << "rank " << rank << " is wrong:" << all[rank] << std::endl;
  }
  if (control->rank() == 0) {
    for (const std::string& refused : contract.refused())
      std::cout << "refused: " << refused << std::endl;
    for (const std::string& call : contract.not_tried())
      std::cout << "not tried: " << call << std::endl;
    std::cout << fmt::format("{} on {} ranks, {} nodes: {} calls, {}\n", arguments.transport,
                             ranks->size(), ranks->nodes(), contract.calls(),
                             right ? "all right" : "WRONG");
  }
  if (!right) return 1;
  return contract.not_tried().empty() ? 0 : 77;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return check(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "contract: " << error.what() << std::endl;
    return 1;
  }
}
