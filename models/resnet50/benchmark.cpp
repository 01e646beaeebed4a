#include "models/resnet50/benchmark.hpp"

#include "models/network/network_benchmark.hpp"
#include "models/resnet50/definition.hpp"
#include "models/resnet50/resnet.hpp"

namespace assay {
namespace {

class Resnet50Benchmark final : public NetworkBenchmark {
 public:
  std::string name() const override { return "resnet50"; }
  std::string description() const override {
    return "Training and inference of ResNet-50 v1.5, in images per second, with every operation "
           "verified. Several ranks train together: mpirun -n RANKS.";
  }
  std::vector<Example> examples() const override {
    return {{"assay-resnet50 --problem d18w8s32c10 --batch 4", "a small network"},
            {"assay-resnet50 --problem d18w8s32c10 --batch 4 --backend native,onednn",
             "by each of two backends"},
            {"assay-resnet50 --direction inference --problem d18w8s32c10 --batch 4", "inference"}};
  }
  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_resnet(descriptor));
  }

  std::vector<Dimension> problem_dimensions() const override {
    Dimension problem = dimension::problem({"imagenet"});
    problem.help =
        "network: depth (18 or 50), channels of the first layer, side of an image, classes "
        "(d18w64s224c1000)";
    return {std::move(problem),
            dimension::field("depth", "d", "number of layers of the network", "50", {"18", "50"}),
            dimension::field("width", "w", "channels of the first layer", "64"),
            dimension::field("image_size", "s", "height and width of the images", "224"),
            dimension::field("classes", "c", "number of classes", "1000")};
  }
  Network network(const std::string& problem) const override {
    return make_resnet(parse_resnet(problem));
  }
  NetworkDefinition definition(const std::string& problem) const override {
    return define_resnet(problem);
  }
};

}  // namespace

const Benchmark& resnet50_benchmark() {
  static const Resnet50Benchmark benchmark;
  return benchmark;
}

}  // namespace assay
