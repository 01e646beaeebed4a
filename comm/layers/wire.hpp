#pragma once
// Wire compression: fp32 or fp64 data travel as fp16 or bf16 and are summed in their own type.

#include <memory>

#include "core/api/backend.hpp"

namespace assay {

/// Over any communicator that has alltoall and allgather of 16-bit data: each rank rounds its
/// contributions, gets those to its part, sums them in the type of the data, rounds the sum, and
/// all gather it. So every contribution and every sum is rounded once, whatever the number of
/// ranks. Allreduce alone; every rank gets the same bits.
std::unique_ptr<Communicator> wire_compressed(Communicator& under, DataType wire);

/// How far the result may be from the exact one (docs/method.md): `sum` is the exact result of op,
/// `absolute` the sum of the magnitudes of the contributions (min and max need none: rounding keeps
/// the order of values, so the result is the exact one rounded once).
/// Valid below the wire's overflow.
double wire_bound(DataType wire, DataType type, ReduceOp op, int ranks, double sum,
                  double absolute);

}  // namespace assay
