#pragma once
// Wire compression: fp32 or fp64 data are sent as fp16 or bf16 and reduced in their own type.

#include <memory>

#include "core/api/backend.hpp"

namespace assay {

/// An allreduce over any communicator with alltoall and allgather of 16-bit data. Each rank rounds
/// its contribution, receives all contributions to its part by alltoall, reduces them in the type
/// of the data, rounds the result, and distributes it by allgather. So each contribution and each
/// result is rounded once, whatever the number of ranks, and all ranks get the same bits. Other
/// collectives are refused.
std::unique_ptr<Communicator> wire_compressed(Communicator& under, DataType wire);

/// The error bound of the result (docs/method.md). `sum` is the exact result of `op`, `absolute`
/// the sum of the magnitudes of the contributions; min and max do not use it, because rounding
/// keeps the order of values and so gives the exact result, rounded once. Valid where nothing
/// overflows in the wire type.
double wire_bound(DataType wire, DataType type, ReduceOp op, int ranks, double sum,
                  double absolute);

}  // namespace assay
