#pragma once
// The networks that assay-train trains.

#include <functional>
#include <string>
#include <vector>

#include "models/network/definition.hpp"
#include "models/network/network.hpp"

namespace assay {

/// A network and its sizes. A file models/<folder>/networks.cpp defines the function
/// `std::vector<NetworkFamily> <folder>_networks()`; CMake finds it.
struct NetworkFamily {
  std::string name;  ///< "mlp"
  std::string help;  ///< kind and fields: "perceptron (i1024w512l2c10)"
  /// All fields of a descriptor ("w64"), which may be empty. InputError for unknown ones.
  std::function<std::string(const std::string& fields)> canonical;
  /// The network of canonical fields, and its definition; the two share no code.
  std::function<Network(const std::string& fields)> network;
  std::function<NetworkDefinition(const std::string& fields)> definition;
};

/// All families, in the order of their names.
const std::vector<NetworkFamily>& network_families();

/// A family, and the fields of one of its networks.
struct NamedNetwork {
  const NetworkFamily* family;
  std::string fields;
};
/// Parses "mlp:w64c5", or "mlp". InputError for unknown names.
NamedNetwork find_named_network(const std::string& descriptor);

}  // namespace assay
