// Networks that find cyclones and atmospheric rivers in simulated weather: those of the exaflop run
// on Summit, and DeepCAM.
#include <fmt/format.h>

#include <optional>

#include "core/base/descriptor.hpp"
#include "models/climate/definitions.hpp"
#include "models/climate/shape.hpp"
#include "models/network/network_family.hpp"
#include "models/network/pixel_classes.hpp"

namespace assay {
namespace {

constexpr std::int64_t longest = 16384, most_channels = 4096, most_root = 64, most_divisor = 16;

/// The differences between the networks.
struct Family {
  const char* name;
  std::int64_t multiple;  ///< of height and width
  std::int64_t root;      ///< unless it is given
  bool mean;              ///< the loss is a mean over pixels, else 0.1 times their sum
  void (*add)(GraphBuilder&, const ClimateShape&, double last_norm);
  ClimateShape small;
};

constexpr Family families[] = {
    {"tiramisu", 16, 2, false,
     [](GraphBuilder& builder, const ClimateShape& shape, double) { add_tiramisu(builder, shape); },
     small_tiramisu},
    {"deeplab", 8, 2, false,
     [](GraphBuilder& builder, const ClimateShape& shape, double last_norm) {
       add_deeplab(builder, shape, false, last_norm);
     },
     small_deeplab},
    {"deepcam", 8, 8, true,
     [](GraphBuilder& builder, const ClimateShape& shape, double last_norm) {
       add_deeplab(builder, shape, true, last_norm);
     },
     small_deeplab},
};

ClimateShape parse(const Family& family, const std::string& descriptor) {
  const DescriptorComplaint complain(family.name, descriptor);
  const auto fields = read_counts(descriptor, {"h", "w", "c", "d", "r"}, {}, complain);
  ClimateShape shape;
  shape.root = family.root;
  for (const auto& [name, value, most] :
       {std::tuple{"h", &shape.height, longest}, std::tuple{"w", &shape.width, longest},
        std::tuple{"c", &shape.channels, most_channels},
        std::tuple{"d", &shape.divisor, most_divisor}, std::tuple{"r", &shape.root, most_root}})
    if (const auto entry = fields.find(name); entry != fields.end()) {
      if (entry->second > most) complain("{} is {}. Use at most {}.", name, entry->second, most);
      *value = entry->second;
    }
  for (const auto& [name, value] : {std::pair{"h", shape.height}, std::pair{"w", shape.width}})
    if (value % family.multiple != 0)
      complain("{} is {}. Use a multiple of {}.", name, value, family.multiple);
  if (most_divisor % shape.divisor != 0) complain("d is {}. Use 1, 2, 4, 8 or 16.", shape.divisor);
  if (family.mean) shape.factor = 1 / static_cast<double>(shape.height * shape.width);
  return shape;
}

std::string to_descriptor(const ClimateShape& shape) {
  return fmt::format("h{}w{}c{}d{}r{}", shape.height, shape.width, shape.channels, shape.divisor,
                     shape.root);
}

Network make(const Family& family, const ClimateShape& shape) {
  Network network;
  network.family = family.name;
  network.descriptor =  // apart from to_descriptor(), so that expect_network() compares two things
      fmt::format("h{}w{}c{}d{}r{}", shape.height, shape.width, shape.channels, shape.divisor,
                  shape.root);
  network.fields = {{"height", shape.height},
                    {"width", shape.width},
                    {"channels", shape.channels},
                    {"divisor", shape.divisor},
                    {"root", shape.root}};
  network.input = {shape.channels, shape.height, shape.width};
  network.classes = climate_classes;
  network.labels = Labels::per_pixel;
  network.quality = Quality::iou;
  network.add_layers = [add = family.add, shape](GraphBuilder& builder, const Learning& learning) {
    add(builder, shape, learning.last_norm);
  };
  network.make_small = [&family] { return make(family, family.small); };
  network.make_half = [&family, shape]() -> std::optional<Network> {
    ClimateShape half = shape;
    for (std::int64_t* const size : {&half.height, &half.width}) {
      *size /= 2;
      if (*size % family.multiple != 0 || *size < 2 * family.multiple) return std::nullopt;
    }
    if (family.mean) half.factor = 1 / static_cast<double>(half.height * half.width);
    return make(family, half);
  };
  return network;
}

NetworkFamily make_family(const Family& family, const std::string& what,
                          std::function<NetworkDefinition(const std::string&)> definition) {
  return {family.name,
          fmt::format("{} of height, width, channels, divisor of the layers' widths, root of the "
                      "classes' weights (h768w1152c16d1r{})",
                      what, family.root),
          [&family](const std::string& fields) { return to_descriptor(parse(family, fields)); },
          [&family](const std::string& fields) { return make(family, parse(family, fields)); },
          std::move(definition)};
}

}  // namespace

std::vector<double> class_weights(const ClimateShape& shape) {
  return class_weights(climate_frequencies, -1 / static_cast<double>(shape.root));
}

std::vector<NetworkFamily> climate_networks() {
  const auto deeplab = [](bool normalizes) {
    return [=](const std::string& fields) { return define_deeplab(fields, normalizes); };
  };
  return {make_family(families[0], "dense blocks", define_tiramisu),
          make_family(families[1], "DeepLabv3+ of the exaflop run", deeplab(false)),
          make_family(families[2], "DeepLabv3+ with batch normalization", deeplab(true))};
}

}  // namespace assay
