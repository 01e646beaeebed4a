#include "models/train/benchmark.hpp"

#include "core/base/text.hpp"
#include "models/network/network_benchmark.hpp"
#include "models/network/network_family.hpp"

namespace assay {
namespace {

class TrainBenchmark final : public NetworkBenchmark {
 public:
  std::string name() const override { return "train"; }
  std::string description() const override {
    return "Training and inference of several networks, in samples per second, with every "
           "operation verified. Several ranks train together: mpirun -n RANKS.";
  }
  std::vector<Example> examples() const override {
    return {{"assay-train --network mlp", "a perceptron"},
            {"assay-train --network resnet18:w8s32c10 --batch 4", "a small residual network"},
            {"assay-train --network mlp:w64 --data learnable:n2000v300 --epochs 5 --rate 1 "
             "--target 0.8",
             "until four of five samples of the validation are recognized"}};
  }
  std::string canonical(const std::string& descriptor) const override {
    const NamedNetwork named = find_named_network(descriptor);
    return named.family->name + ":" + named.family->canonical(named.fields);
  }

  std::vector<std::string> descriptors(const std::string& text) const override {
    if (text != "all") return {text};
    std::vector<std::string> names;
    for (const NetworkFamily& family : network_families()) names.push_back(family.name);
    return names;
  }

  std::vector<Dimension> problem_dimensions() const override {
    Dimension problem = dimension::problem({"mlp"});
    problem.flags = {"network", "problem"};
    std::vector<std::string> families;
    for (const NetworkFamily& family : network_families())
      families.push_back(family.name + ": " + family.help);
    problem.help =
        "a network, or with its fields NAME:FIELDS; all: each of them. " + join(families, "; ");
    return {std::move(problem)};
  }
  Network network(const std::string& problem) const override {
    const NamedNetwork named = find_named_network(problem);
    Network network = named.family->network(named.fields);
    network.descriptor = named.family->name + ":" + network.descriptor;
    return network;
  }
  NetworkDefinition definition(const std::string& problem) const override {
    const std::size_t colon = problem.find(':');
    for (const NetworkFamily& family : network_families())
      if (family.name == problem.substr(0, colon))
        return family.definition(problem.substr(colon + 1));
    throw CaseError("no network is called " + problem);
  }
};

}  // namespace

const Benchmark& train_benchmark() {
  static const TrainBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
