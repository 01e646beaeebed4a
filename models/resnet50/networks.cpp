#include "models/network/network_family.hpp"
#include "models/resnet50/definition.hpp"
#include "models/resnet50/resnet.hpp"

namespace assay {
namespace {

/// The family of one depth, whose descriptors omit it.
NetworkFamily make_family(const std::string& depth) {
  const std::string prefix = "d" + depth;
  return {"resnet" + depth, "residual network of width, image size, classes (w64s224c1000)",
          [=](const std::string& fields) {
            return to_descriptor(parse_resnet(prefix + fields)).substr(prefix.size());
          },
          [=](const std::string& fields) {
            Network network = make_resnet(parse_resnet(prefix + fields));
            network.descriptor.erase(0, prefix.size());
            return network;
          },
          [=](const std::string& fields) { return define_resnet(prefix + fields); }};
}

}  // namespace

std::vector<NetworkFamily> resnet50_networks() { return {make_family("18"), make_family("50")}; }

}  // namespace assay
