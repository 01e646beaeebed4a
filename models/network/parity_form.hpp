#pragma once
// The form in which a network is compared with fp64 if it is too large itself.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/machine/environment.hpp"
#include "models/network/network.hpp"

namespace assay {

/// Limits of a pass in plain fp64 loops on this host.
struct ParityLimits {
  double flops = 1e11;  ///< a minute or two
  double bytes = static_cast<double>(memory_available());
};

/// The network itself, or the largest of its smaller forms whose pass is within the limits.
struct ParityForm {
  Network network;
  std::int64_t images = 0;
  std::string smaller;  ///< describes the smaller form; "": the network itself
  bool whole() const { return smaller.empty(); }
  std::string text() const { return whole() ? "the network" : smaller; }
};

/// The nodes of a pass, by network, images and precision.
using PassOf = std::function<Graph(const Network&, std::int64_t, Precision)>;

/// `images`: number of images of a pass; one image, if only that is within the limits and the
/// network has no mean over images. `tried`: the precision of the pass that is compared with fp64,
/// if it runs on this host.
ParityForm parity_form(const Network& network,
                       const std::function<std::int64_t(const Network&)>& images,
                       const PassOf& pass, std::optional<Precision> tried,
                       const ParityLimits& limits);

}  // namespace assay
