#pragma once
// Fusion: combines the allreduces of small tensors into one call, since each call costs a latency.

#include <memory>

#include "core/api/backend.hpp"

namespace assay {

/// Started allreduces of at most `bytes` are collected. They are submitted as one call when the
/// next one does not fit or differs in type or operation, and when one of them is waited for. A
/// larger one is submitted at once and alone, after the collected ones: the order of starts is
/// kept. Tensors that are adjacent in memory, in that order, are submitted where they are; others
/// are copied into a buffer of `bytes` before the call and out of it afterwards. All ranks must
/// have the same arrangement of tensors, since libraries require in-place calls to be in place on
/// all ranks, and must start and wait in the same order. done() never submits, since ranks poll
/// differently often. run() and the other collectives are forwarded.
std::unique_ptr<Communicator> make_fusion(Communicator& under, std::size_t bytes);

}  // namespace assay
