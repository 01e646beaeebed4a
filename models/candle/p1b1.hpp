#pragma once
// The autoencoder P1B1 of CANDLE.

#include "models/network/network_family.hpp"

namespace assay {

NetworkFamily p1b1_family();

}  // namespace assay
